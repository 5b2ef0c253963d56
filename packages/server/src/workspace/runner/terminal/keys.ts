/** Input for a running program: text, or the name of a key. Source: agent-core.md 8.2, F76. */

const NAMED: Readonly<Record<string, string>> = {
  ENTER: '\r',
  TAB: '\t',
  BS: '\x7f',
  ESC: '\x1b',
  UP: '\x1b[A',
  DOWN: '\x1b[B',
  RIGHT: '\x1b[C',
  LEFT: '\x1b[D',
  HOME: '\x1b[H',
  END: '\x1b[F',
  PGUP: '\x1b[5~',
  PGDN: '\x1b[6~',
}

const CONTROL = /^(?:C-|CTRL[-+])([A-Za-z@[\\\]^_])$/i

/** The bytes of a key name, or null when `text` is not one. */
function keyBytes(text: string): string | null {
  const control = CONTROL.exec(text)?.[1]
  if (control !== undefined) return String.fromCharCode(control.toUpperCase().charCodeAt(0) & 0x1f)
  return NAMED[text.toUpperCase()] ?? null
}

/** Longest line that a terminal passes on; it drops further bytes silently. */
export const MAX_INPUT_LINE_BYTES = 4_095

/** A key alone, or text followed by Enter. */
export const inputBytes = (text: string): string =>
  keyBytes(text) ?? `${text.replace(/\n$/, '').replaceAll('\n', '\r')}\r`

export const hasTooLongLine = (text: string): boolean =>
  text.split('\n').some((line) => Buffer.byteLength(line) >= MAX_INPUT_LINE_BYTES)
