/** Output of a command as runs of one style. No DOM. */
import Anser from 'anser'

export type Run = { readonly text: string; readonly classes: string }

/** Lines beyond this length are cut, with the number of characters that are left out. */
const MAX_LINE = 4000

/** The lines of an output as a terminal would show them: carriage returns overwrite, other control sequences are removed. */
export function linesOf(output: string): readonly string[] {
  const text = output.replaceAll('\r\n', '\n').replace(/\n$/, '')
  return text.split('\n').map((line) => cut(overwritten(line)))
}

/** Sequences besides colours: they move the cursor, set titles and links, or choose character sets. */
const SEQUENCES =
  // oxlint-disable-next-line no-control-regex
  /\u001b(?:\[[0-9;?]*[A-LN-Za-ln-z]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[()][A-Z0-9]|[=>78cDEHM])/g

/** The runs of one line. Colours become classes; sequences that move the cursor are removed. */
export function runsOf(line: string): readonly Run[] {
  const plain = line.replace(SEQUENCES, '')
  return Anser.ansiToJson(plain, { json: true, remove_empty: true, use_classes: true }).map((entry) => ({
    text: visible(entry.content),
    classes: [
      classOf('fg', entry.fg),
      classOf('bg', entry.bg),
      ...(entry.decorations ?? []).map((decoration) => `ansi-${decoration}`),
    ]
      .filter(Boolean)
      .join(' '),
  }))
}

/** The output without control sequences. */
export const plainOf = (output: string): string =>
  linesOf(output)
    .map((line) =>
      runsOf(line)
        .map(({ text }) => text)
        .join(''),
    )
    .join('\n')

/** Only names that have a rule in the style sheet; true colours and palette numbers are shown as the nearest of none. */
const classOf = (kind: 'fg' | 'bg', name: string | null | undefined): string => {
  const [, colour] = /^ansi-(?:bright-)?(black|red|green|yellow|blue|magenta|cyan|white)$/.exec(name ?? '') ?? []
  return colour === undefined ? '' : `ansi-${kind}-${colour}`
}

function overwritten(line: string): string {
  const parts = line.split('\r').filter((part, index, all) => part !== '' || index < all.length - 1)
  return parts.at(-1) ?? ''
}

const cut = (line: string) =>
  line.length <= MAX_LINE ? line : `${line.slice(0, MAX_LINE)} … (${line.length - MAX_LINE} more characters)`

/** Control characters that are left are shown by their picture. */
const visible = (text: string) =>
  // oxlint-disable-next-line no-control-regex
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (char) => {
    const code = char.charCodeAt(0)
    return code === 0x7f ? '\u2421' : String.fromCharCode(0x2400 + code)
  })
