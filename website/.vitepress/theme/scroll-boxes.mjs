/**
 * Shows which tables, pictures and programs go on beyond the edge of their box. Such a box can be
 * reached and scrolled with the keyboard.
 */
const BOXES = '.vp-doc .scroll-box, .vp-doc div[class*="language-"] > pre'
/** The first column stays in view where it leaves the others this part of the box. */
const OTHERS = 0.6

/** @type {ResizeObserver | undefined} */
let sizes

/** Watches the boxes of the page that is shown now, and no others. */
export function markScrollBoxes() {
  sizes?.disconnect()
  sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) mark(target)
  })
  for (const box of document.querySelectorAll(BOXES)) {
    box.addEventListener('scroll', noteScroll, { passive: true })
    sizes.observe(box)
    mark(box)
  }
}

/** @param {Event} event */
function noteScroll({ currentTarget }) {
  markEdges(currentTarget)
}

/** @param {HTMLElement} box */
function mark(box) {
  const scrolls = box.scrollWidth > box.clientWidth + 1
  if (scrolls) box.setAttribute('tabindex', '0')
  else box.removeAttribute('tabindex')
  const first = box.querySelector('th, td')
  box.classList.toggle(
    'first-stays',
    scrolls && !!first && first.offsetWidth <= box.clientWidth * (1 - OTHERS),
  )
  markEdges(box)
}

/** @param {HTMLElement} box */
function markEdges(box) {
  const rest = box.scrollWidth - box.clientWidth - box.scrollLeft
  box.parentElement.classList.toggle('more-left', box.scrollLeft > 1)
  box.parentElement.classList.toggle('more-right', rest > 1)
}
