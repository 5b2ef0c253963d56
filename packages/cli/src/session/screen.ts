/** The screen of the interactive session: transcript, what happens now, questions, the message that is being written, status line. */
import {
  CombinedAutocompleteProvider,
  type Component,
  Container,
  Editor,
  ProcessTerminal,
  type SlashCommand,
  truncateToWidth,
  TuiMainScreen,
  wrapTextWithAnsi,
} from '@earendil-works/pi-tui'
import { LinesBlock } from './blocks.ts'
import { LiveArea } from './live-area.ts'
import type { Theme } from './theme.ts'

export class Screen {
  readonly theme: Theme
  readonly live: LiveArea
  readonly editor: Editor
  readonly #tui = new TuiMainScreen(new ProcessTerminal())
  readonly #transcript = new Container()
  readonly #dock = new Container()
  readonly #status: Component
  #statusText = ''

  /** `onKey`: sees each key first; true when it has used it. */
  constructor(theme: Theme, onKey: (data: string) => boolean) {
    this.theme = theme
    this.live = new LiveArea(theme, () => this.redraw())
    this.editor = new Editor(this.#tui, theme.editor, { paddingX: 1 })
    this.#status = {
      render: (width) => [theme.paint('dim', truncateToWidth(this.#statusText, width))],
      invalidate() {},
    }
    for (const part of [this.#transcript, this.live, this.#dock, this.editor, this.#status]) this.#tui.addChild(part)
    this.#tui.addInputListener((data) => (onKey(data) ? { consume: true } : undefined))
    this.#tui.setFocus(this.editor)
  }

  start(): void {
    this.#tui.start()
  }

  /** Leaves the last screen in the terminal, whose settings are those from before. */
  stop(): void {
    this.live.end()
    this.#tui.stop()
  }

  complete(commands: SlashCommand[], directory: string): void {
    this.editor.setAutocompleteProvider(new CombinedAutocompleteProvider(commands, directory))
  }

  add(blocks: readonly Component[]): void {
    for (const block of blocks) this.#transcript.addChild(block)
    this.redraw()
  }

  addLines(...lines: readonly string[]): void {
    this.add([new LinesBlock(() => lines)])
  }

  /** A sentence, on as many lines as it needs. */
  addText(text: string): void {
    this.add([new LinesBlock((width) => wrapTextWithAnsi(text, width))])
  }

  clear(): void {
    this.#transcript.clear()
    this.redraw()
  }

  setStatus(text: string): void {
    this.#statusText = text
    this.redraw()
  }

  /** Shows a component above the message and gives it the keys; null: the message has them. */
  ask(component: Component | null): void {
    this.#dock.clear()
    if (component !== null) this.#dock.addChild(component)
    this.#tui.setFocus(component ?? this.editor)
    this.redraw()
  }

  redraw(): void {
    this.#tui.requestRender()
  }
}
