/** Colours of the interactive session. */
import type { EditorTheme, MarkdownTheme, SelectListTheme } from '@earendil-works/pi-tui'
import type { Paint } from '../paint.ts'

export type Theme = { paint: Paint; markdown: MarkdownTheme; select: SelectListTheme; editor: EditorTheme }

export function themeOf(paint: Paint): Theme {
  const as = (colour: Parameters<Paint>[0]) => (text: string) => paint(colour, text)
  const same = (text: string) => text
  const select: SelectListTheme = {
    selectedPrefix: as('cyan'),
    selectedText: as('cyan'),
    description: as('dim'),
    scrollInfo: as('dim'),
    noMatch: as('dim'),
  }
  return {
    paint,
    select,
    editor: { borderColor: as('dim'), selectList: select },
    markdown: {
      heading: as('bold'),
      link: as('cyan'),
      linkUrl: as('dim'),
      code: as('cyan'),
      codeBlock: same,
      codeBlockBorder: as('dim'),
      quote: same,
      quoteBorder: as('dim'),
      hr: as('dim'),
      listBullet: as('dim'),
      bold: as('bold'),
      italic: same,
      strikethrough: same,
      underline: same,
    },
  }
}
