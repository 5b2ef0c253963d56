/** A conversation as it is written to a terminal: events as they are rendered, and answers letter by letter while they come. */
import type { ContentPart } from '@parley/protocol'
import { plain } from './paint.ts'
import { render, type ShownEvent, type View } from './render.ts'

/** Text to print, in the order things come; keeps in mind what of an answer is on the screen already. */
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

  /** An answer that stood there in full already is not printed again. */
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
