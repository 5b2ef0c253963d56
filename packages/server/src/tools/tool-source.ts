/** Tools from external providers, whose set may change while the agent runs. */
import type { Tool } from './tool.ts'

/** A warning for the users of a conversation that does not end the run. */
export type Notice = { code: string; detail: string }

export interface ToolSource extends AsyncDisposable {
  /**
   * Loads the tools. Resolves when every provider responded or failed, or when the signal aborts; later calls return at
   * once and
   * continue in parallel to the agent.
   */
  prepare(signal: AbortSignal): Promise<void>
  /** Increases whenever the result of `tools` changes. */
  readonly version: number
  /** Returns the current tools. A tool whose name is taken is left out and reported by a notice. */
  tools(taken: ReadonlySet<string>): readonly Tool[]
  /** Returns the notices since the last call. */
  takeNotices(): Notice[]
}
