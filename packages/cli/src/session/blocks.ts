/** Blocks of the transcript: events as they are shown between two widths of the terminal. */
import { type Component, Markdown, truncateToWidth } from '@earendil-works/pi-tui'
import { contentText } from '../content-text.ts'
import { plain } from '../paint.ts'
import { render, type ShownEvent, type View } from '../render.ts'
import type { Theme } from './theme.ts'

/** Lines that are computed for a width, and kept until it changes. */
export class LinesBlock implements Component {
  readonly #linesFor: (width: number) => readonly string[]
  #width = 0
  #lines: string[] = []

  constructor(linesFor: (width: number) => readonly string[]) {
    this.#linesFor = linesFor
  }

  render(width: number): string[] {
    if (width !== this.#width) {
      this.#width = width
      this.#lines = this.#linesFor(width).map((line) => truncateToWidth(line, width))
    }
    return this.#lines
  }

  invalidate(): void {
    this.#width = 0
  }
}

const EMPTY_LINE = new LinesBlock(() => [''])

/** Text of a model as Markdown, after an empty line. */
const spoken = (text: string, theme: Theme): Component[] => [
  EMPTY_LINE,
  new Markdown(plain(text).trim(), 0, 0, theme.markdown),
]

/** The blocks of one event; none for an event that is not shown. */
export function blocksOf(event: ShownEvent, view: Omit<View, 'width'>, theme: Theme): Component[] {
  if (event.kind === 'MessageEvent' && event.source === 'agent')
    return textBlocks(contentText(event.llm_message.content), theme)
  if (event.kind === 'ActionEvent') {
    const { action } = event
    const thought = textBlocks(contentText(event.thought), theme)
    if (action?.kind === 'FinishAction' && 'message' in action)
      return [...thought, ...textBlocks(String(action.message), theme)]
    return [...thought, ...lines({ ...event, thought: [] }, view)]
  }
  // The question itself is on the screen.
  if (isWaiting(event)) return []
  const shown = lines(event, view)
  return event.kind === 'MessageEvent' ? [EMPTY_LINE, ...shown] : shown
}

const isWaiting = (event: ShownEvent): boolean =>
  event.kind === 'ConversationStateUpdateEvent' &&
  event.key === 'execution_status' &&
  event.value === 'waiting_for_confirmation'

const textBlocks = (text: string, theme: Theme): Component[] => (text.trim() === '' ? [] : spoken(text, theme))

function lines(event: ShownEvent, view: Omit<View, 'width'>): Component[] {
  const isEmpty = render(event, { ...view, width: 80 }).length === 0
  return isEmpty ? [] : [new LinesBlock((width) => render(event, { ...view, width }))]
}
