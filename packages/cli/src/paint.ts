/** Colours for a terminal, and removal of control characters from untrusted text. */

export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan'
export type Paint = (colour: Colour, text: string) => string

const CODES: Record<Colour, readonly [number, number]> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
}

/** Returns a function that colours text, or returns it unchanged without colours. */
export function painter(isColoured: boolean): Paint {
  if (!isColoured) return (_colour, text) => text
  return (colour, text) => `\u001b[${CODES[colour][0]}m${text}\u001b[${CODES[colour][1]}m`
}

// oxlint-disable-next-line no-control-regex -- these are the characters to remove
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g
// oxlint-disable-next-line no-control-regex -- these are the characters to remove
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/**
 * Removes escape sequences, other control characters and marks that reverse the reading order from text of a model, a command or a
 * file. Otherwise text that an agent reads could rewrite the screen.
 */
export function plain(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(ESCAPES, '').replace(CONTROLS, '')
}

/** Shortens text to `width` characters; the last one is an ellipsis when text was removed. */
export function clip(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`
}
