/** The question about a batch of actions, and the keys that answer it. */
import { type Component, matchesKey, truncateToWidth, wrapTextWithAnsi } from '@earendil-works/pi-tui'
import { plain } from '../paint.ts'
import { render, type ShownEvent, type View } from '../render.ts'
import type { Theme } from './theme.ts'

/** Milliseconds after the card is on the screen in which keys decide nothing: they were meant for something else. */
const GUARD_MS = 400
/** A key decides only if no other follows within these milliseconds, as in text that is pasted. */
const ALONE_MS = 40
/** Lines of one action. */
const MAX_LINES = 200

export type AskedAction = { event: ShownEvent | undefined; tool: string; risk: string; reasons: readonly string[] }
export type Answer = 'once' | 'refuse' | 'refuse_with_reason'

export type CardDeps = {
  actions: readonly AskedAction[]
  view: Omit<View, 'width'>
  theme: Theme
  /** Called once. */
  onAnswer: (answer: Answer) => void
  /** Input that decides nothing, for the message that is being written. */
  onOther: (data: string) => void
}

const KEYS: Readonly<Record<string, Answer>> = { y: 'once', n: 'refuse', r: 'refuse_with_reason' }

export class ApprovalCard implements Component {
  readonly #deps: CardDeps
  #shownAt: number | null = null
  #pending: { data: string; timer: ReturnType<typeof setTimeout> } | null = null
  #isAnswered = false

  constructor(deps: CardDeps) {
    this.#deps = deps
  }

  render(width: number): string[] {
    // Called when the screen is written.
    this.#shownAt ??= performance.now()
    const { actions, view, theme } = this.#deps
    const { paint } = theme
    const title = paint(
      'yellow',
      actions.length === 1
        ? '? This action needs your approval'
        : `? These ${actions.length} actions need your approval`,
    )
    const shown = actions.flatMap((action) => [...this.#action(action, view, width), ''])
    const keys = `${paint('bold', 'y')} approve once   ${paint('bold', 'n')} refuse   ${paint('bold', 'r')} refuse with a reason`
    return ['', title, ...shown, ...wrapTextWithAnsi(keys, width)].map((line) => truncateToWidth(line, width))
  }

  #action({ event, tool, risk, reasons }: AskedAction, view: Omit<View, 'width'>, width: number): string[] {
    const { paint } = this.#deps.theme
    // A decision needs the whole text.
    const asked = event?.kind === 'ActionEvent' ? { ...event, thought: [] } : event
    const whole = { ...view, width: Number.POSITIVE_INFINITY, maxLines: MAX_LINES }
    const body = asked === undefined ? [plain(tool)] : render(asked, whole)
    const why = reasons.map((reason) => paint('yellow', `  ${plain(reason)}`))
    return [...body, paint(risk === 'HIGH' ? 'red' : 'yellow', `  risk ${risk}`), ...why].flatMap((line) =>
      wrapTextWithAnsi(line, width),
    )
  }

  handleInput(data: string): void {
    if (this.#isAnswered) return this.#deps.onOther(data)
    const answer = KEYS[data.toLowerCase()]
    const isGuarded = this.#shownAt === null || performance.now() - this.#shownAt < GUARD_MS
    if (this.#pending !== null) {
      const { data: before, timer } = this.#pending
      clearTimeout(timer)
      this.#pending = null
      this.#deps.onOther(before)
      return this.#deps.onOther(data)
    }
    if (answer === undefined || isGuarded) return matchesKey(data, 'enter') ? undefined : this.#deps.onOther(data)
    const timer = setTimeout(() => {
      this.#isAnswered = true
      this.#deps.onAnswer(answer)
    }, ALONE_MS)
    this.#pending = { data, timer }
  }

  invalidate(): void {}
}
