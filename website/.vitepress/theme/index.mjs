/** The theme of VitePress, with what it lacks for narrow screens and screen readers. */
import { onContentUpdated, useRoute } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { nextTick, onMounted, watch } from 'vue'
import { markScrollBoxes } from './scroll-boxes.mjs'
import './style.css'

export default {
  ...DefaultTheme,
  setup() {
    const route = useRoute()
    onMounted(mend)
    onContentUpdated(mend)
    watch(
      () => route.path,
      () => nextTick(mend),
    )
  },
}

function mend() {
  mendRoles()
  markScrollBoxes()
}

function mendRoles() {
  // A home page has no main landmark.
  document.querySelector('#VPContent.is-home')?.setAttribute('role', 'main')
  // The title of a group is a button, and so is the arrow inside of it, which does the same.
  for (const arrow of document.querySelectorAll('.VPSidebarItem [role="button"] > .caret')) {
    arrow.removeAttribute('tabindex')
    arrow.removeAttribute('role')
    arrow.setAttribute('aria-hidden', 'true')
  }
}
