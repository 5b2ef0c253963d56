/** Visible text of a page. */
import type { Page } from 'playwright-core'

const MAX_LINKS = 500

const LINKS = `[...document.querySelectorAll('a[href]')].slice(0, ${MAX_LINKS})
  .map((link) => [link.innerText.replace(/\\s+/g, ' ').trim(), link.href])
  .filter(([text, href]) => text !== '' && /^https?:/.test(href))`

/** Returns the visible text with marked headings; then, if requested, the links in it. */
export async function readPage(page: Page, withLinks: boolean): Promise<string> {
  const parts = await Promise.all(page.frames().map((frame) => frame.evaluate<string>(TEXT).catch(() => '')))
  const text = parts
    .filter((part) => part.trim() !== '')
    .join('\n\n')
    .replaceAll(/\n{3,}/g, '\n\n')
  if (!withLinks) return text
  const links = await page.evaluate<[string, string][]>(LINKS)
  const rows = links.map(([name, href]) => `- [${name}](${href})`)
  return `${text}\n\nLinks:\n${rows.join('\n') || 'none'}`
}

/** Runs in the page. Text is taken as rendered; headings get marks for their level. */
const TEXT = `(() => {
  const root = document.body
  if (!root) return ''
  const headings = [...root.querySelectorAll('h1,h2,h3,h4,h5,h6')]
  let text = root.innerText
  let from = 0
  for (const heading of headings) {
    const words = heading.innerText.trim()
    if (words === '') continue
    const at = text.indexOf(words, from)
    if (at === -1 || (at > 0 && text[at - 1] !== '\\n')) continue
    const mark = '#'.repeat(Number(heading.tagName[1])) + ' '
    text = text.slice(0, at) + mark + text.slice(at)
    from = at + mark.length + words.length
  }
  return text
})()`
