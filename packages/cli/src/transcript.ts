/** Writes a conversation to a terminal: rendered events, and model answers piece by piece. */
import type { ContentPart } from '@parley/protocol'
import { plain } from './paint.ts'
import { render, type ShownEvent, type View } from './render.ts'

/** Produces the text to print and remembers which part of an answer is on the screen. */
export class Transcript {
  readonly #view: View
  #streamed = ''

  constructor(view: View) {
    this.#view = view
  }

  delta(content: string): string {
    const text = plain(content)
    if (text === '') return ''
    const start = this.#streamed === '' ? `${this.#view.paint('magenta', 'agent ')} ` : ''
    this.#streamed += text
    return `${start}${text.replaceAll('\n', '\n       ')}`
  }

  /** An answer that is on the screen in full is not printed again. */
  event(event: ShownEvent): string {
    const { rest, isKnown } = this.#withoutStreamed(event)
    const lines = rest === null ? [] : render(rest, this.#view)
    const end = this.#streamed !== '' && (isKnown || lines.length > 0) ? '\n' : ''
    if (end !== '') this.#streamed = ''
    return `${end}${lines.map((line) => `${line}\n`).join('')}`
  }

  #withoutStreamed(event: ShownEvent): { rest: ShownEvent | null; isKnown: boolean } {
    const isSaid = (content: readonly ContentPart[]) =>
      this.#streamed !== '' && this.#streamed.trim() === plain(textOf(content)).trim()
    if (event.kind === 'MessageEvent' && event.source === 'agent' && isSaid(event.llm_message.content)) {
      return { rest: null, isKnown: true }
    }
    if (event.kind === 'ActionEvent' && isSaid(event.thought)) return { rest: { ...event, thought: [] }, isKnown: true }
    return { rest: event, isKnown: false }
  }
}

function textOf(content: readonly ContentPart[]): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
}
