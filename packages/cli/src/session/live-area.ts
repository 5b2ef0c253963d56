/** What happens now: the answer that is being written, the output of a command that runs, and a line with the elapsed time. */
import { type Component, Markdown, truncateToWidth } from '@earendil-works/pi-tui'
import type { SessionFrame } from '@parley/protocol'
import { plain } from '../paint.ts'
import type { Theme } from './theme.ts'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 100
/** Newest lines of the output of a command. */
const OUTPUT_LINES = 8
/** Characters of it that are kept. */
const OUTPUT_CHARS = 8000

type Part = { isText: boolean; text: string }

export class LiveArea implements Component {
  readonly #theme: Theme
  readonly #redraw: () => void
  readonly #answer: Markdown
  #responseId: string | undefined
  readonly #parts = new Map<number, Part>()
  #writing: string | null = null
  #output = ''
  #outputOf: string | null = null
  #since: number | null = null
  #timer: ReturnType<typeof setInterval> | undefined
  #note = ''

  constructor(theme: Theme, redraw: () => void) {
    this.#theme = theme
    this.#redraw = redraw
    this.#answer = new Markdown('', 0, 0, theme.markdown)
  }

  /** Shows that a run is active. `note`: what a person can do. */
  begin(note: string): void {
    this.#note = note
    if (this.#since !== null) return
    this.#since = Date.now()
    this.#timer = setInterval(this.#redraw, FRAME_MS)
  }

  /** Forgets everything. */
  end(): void {
    clearInterval(this.#timer)
    this.#since = null
    this.clearAnswer()
    this.clearOutput()
  }

  /** The answer is stored, or was given up. */
  clearAnswer(): void {
    this.#parts.clear()
    this.#writing = null
    this.#answer.setText('')
  }

  clearOutput(): void {
    this.#output = ''
    this.#outputOf = null
  }

  take(frame: SessionFrame): void {
    switch (frame.type) {
      case 'delta':
        this.#begins(frame.response_id)
        this.#append(
          frame.part ?? 0,
          frame.offset,
          frame.content ?? frame.reasoning_content ?? '',
          frame.content != null,
        )
        break
      case 'partial':
        this.clearAnswer()
        this.#begins(frame.response_id)
        for (const { part, kind, text } of frame.parts) this.#parts.set(part, { isText: kind === 'content', text })
        break
      case 'tool_call':
        this.#writing = `${plain(frame.name)} (${frame.chars} characters)`
        break
      case 'output':
        if (frame.action_id !== this.#outputOf) this.#output = ''
        this.#outputOf = frame.action_id
        this.#output = `${this.#output}${frame.text}`.slice(-OUTPUT_CHARS)
        break
      default:
        return
    }
    this.#answer.setText(
      plain([...this.#parts.values()].flatMap(({ isText, text }) => (isText ? [text] : [])).join('')),
    )
    this.#redraw()
  }

  render(width: number): string[] {
    const { paint } = this.#theme
    const answer = this.#answer.render(width)
    const output = plain(this.#output.replaceAll('\t', '    '))
      .trimEnd()
      .split('\n')
      .slice(-OUTPUT_LINES)
      .filter((line) => line !== '' || this.#output !== '')
      .map((line) => paint('dim', truncateToWidth(`  ${line}`, width)))
    return [...(answer.length > 0 ? ['', ...answer] : []), ...output, ...this.#busyLine(width)]
  }

  invalidate(): void {
    this.#answer.invalidate()
  }

  #busyLine(width: number): string[] {
    if (this.#since === null) return []
    const elapsed = Date.now() - this.#since
    const sign = this.#theme.paint('cyan', FRAMES[Math.floor(elapsed / FRAME_MS) % FRAMES.length]!)
    const what = this.#writing !== null ? `writing ${this.#writing}` : this.#outputOf !== null ? 'running' : 'working'
    const text = `${what} · ${Math.floor(elapsed / 1000)} s · ${this.#note}`
    return ['', truncateToWidth(`${sign} ${this.#theme.paint('dim', text)}`, width)]
  }

  #begins(responseId: string | undefined): void {
    if (responseId === this.#responseId) return
    this.#responseId = responseId
    this.clearAnswer()
  }

  #append(number: number, offset: number | undefined, text: string, isText: boolean): void {
    const before = this.#parts.get(number)?.text ?? ''
    this.#parts.set(number, { isText, text: `${offset === undefined ? before : before.slice(0, offset)}${text}` })
  }
}
