/**
 * What is wrong with how a page is laid out. The check puts this script into each page.
 */
globalThis.layoutFaults = layoutFaults

/**
 * @param {number} smallestText in pixels, for pictures
 * @returns {Promise<string[]>}
 */
async function layoutFaults(smallestText) {
  const content = [...document.querySelectorAll('#VPContent *')].filter(isShown)
  const pictures = await Promise.all(
    [...document.images].map((image) => pictureFault(image, smallestText)),
  )
  return [
    ...[...document.querySelectorAll('*')]
      .filter(isWiderThanPage)
      .map(named('the page is widened by')),
    ...content.filter(isCutOff).map(named('cut off at the edge of the screen')),
    ...content.filter(hidesText).map(named('hides a part of its text')),
    ...content.filter(scrolls).flatMap(scrollFaults),
    ...content.filter(isSqueezed).map(named('a column of a word a line')),
    ...brokenNumbers(),
    ...pictures.filter((fault) => fault !== undefined),
  ]
}

function named(what) {
  return (element) => `${what}: ${element.outerHTML.slice(0, 120)}`
}

function isShown(element) {
  const { visibility, position, clipPath } = getComputedStyle(element)
  // Text for screen readers is a pixel large.
  const isForReaders = position === 'absolute' && clipPath !== 'none'
  return element.checkVisibility() && visibility === 'visible' && !isForReaders
}

function isWiderThanPage(element) {
  return element === document.documentElement && element.scrollWidth > element.clientWidth
}

function overflowOf(element) {
  return getComputedStyle(element).overflowX
}

function isTooWide(element) {
  return element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1
}

function scrolls(element) {
  return ['auto', 'scroll'].includes(overflowOf(element)) && isTooWide(element)
}

function isCutOff(element) {
  const { left, right, width } = element.getBoundingClientRect()
  if (width === 0 || (left > -1 && right < document.documentElement.clientWidth + 1)) return false
  for (let above = element; above; above = above.parentElement) if (scrolls(above)) return false
  return true
}

function hidesText(element) {
  return ['hidden', 'clip'].includes(overflowOf(element)) && isTooWide(element)
}

/** A box that scrolls shows that, and the keyboard reaches it. */
function scrollFaults(element) {
  const hint = getComputedStyle(element.parentElement, '::after')
  return [
    ...(element.tabIndex === 0 ? [] : ['the keyboard does not reach a box that scrolls']),
    ...(hint.content === '"›"' && hint.backgroundImage !== 'none'
      ? []
      : ['nothing shows that a box scrolls']),
  ].map((what) => named(what)(element))
}

function isSqueezed(element) {
  if (!['TD', 'TH'].includes(element.tagName)) return false
  const { lineHeight } = getComputedStyle(element)
  const text = document.createRange()
  text.selectNodeContents(element)
  const { width, height } = text.getBoundingClientRect()
  return height > 4.5 * parseFloat(lineHeight) && width < 60
}

function brokenNumbers() {
  const found = []
  const texts = document.createTreeWalker(
    document.querySelector('#VPContent'),
    NodeFilter.SHOW_TEXT,
  )
  while (texts.nextNode()) {
    const text = texts.currentNode
    const number = /\d\s\d{3}(?!\d)|\d\s(?:ms|s|µs|k\/s|\/s|kB|MB|%|秒|毫秒)(?![\w/])/gu
    for (const match of text.data.matchAll(number)) {
      const range = document.createRange()
      range.setStart(text, match.index)
      range.setEnd(text, match.index + match[0].length)
      const lines = new Set(Array.from(range.getClientRects(), ({ top }) => Math.round(top)))
      if (lines.size > 1) found.push(`a number is broken: ${text.data.slice(0, 80)}`)
    }
  }
  return found
}

async function pictureFault(image, smallestText) {
  // The builder puts small pictures into the page.
  if (!/\.svg$|^data:image\/svg/.test(image.currentSrc)) return undefined
  if (image.clientWidth === 0) return undefined
  const svg = await (await fetch(image.currentSrc)).text()
  const sizes = Array.from(svg.matchAll(/font-size="(\d+)/g), ([, size]) => Number(size))
  const [, width] = /viewBox="0 0 (\d+)/.exec(svg)
  const text = (Math.min(...sizes) * image.clientWidth) / Number(width)
  if (sizes.length === 0 || text > smallestText - 0.05) return undefined
  return named(`the text of a picture is ${text.toFixed(1)} px small`)(image)
}
