/**
 * The links to the other language. Those of VitePress expect the same address below `/zh/`, which
 * few pages have: a page without a translation leads to the home page.
 */
import { useData } from 'vitepress'
import { computed } from 'vue'
import { inOtherLanguage } from '../languages.mjs'

export function useLangs({ correspondingLink = false } = {}) {
  const { site, localeIndex, page } = useData()
  const languages = computed(() =>
    Object.entries(site.value.locales).map(([key, { label, link = '/' }]) => ({
      key,
      label,
      link,
    })),
  )
  const currentLang = computed(() => languages.value.find(({ key }) => key === localeIndex.value))
  const localeLinks = computed(() =>
    languages.value
      .filter(({ key }) => key !== localeIndex.value)
      .map(({ label, link }) => ({
        text: label,
        link: (correspondingLink && inOtherLanguage(page.value.relativePath)) || link,
      })),
  )
  return { localeLinks, currentLang }
}
