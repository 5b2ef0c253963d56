/** Colours for a terminal, and text that cannot take the terminal over. */

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

/** Paints, or leaves text as it is when colours are not wanted. */
export function painter(isColoured: boolean): Paint {
  if (!isColoured) return (_colour, text) => text
  return (colour, text) => `\u001b[${CODES[colour][0]}m${text}\u001b[${CODES[colour][1]}m`
}

// oxlint-disable-next-line no-control-regex -- these are the characters to keep out
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g
// oxlint-disable-next-line no-control-regex -- these are the characters to keep out
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/**
 * Text from a model, a command or a file, made safe to print: no escape sequences, no other control characters, no marks that
 * reverse the reading order. What was on the screen could otherwise be rewritten by what an agent happens to read.
 */
export function plain(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(ESCAPES, '').replace(CONTROLS, '')
}

/** At most `width` characters, the last one an ellipsis when something was cut. */
export function clip(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`
}
