/** Tools that others offer to an agent, and that may come and go while it lives. */
import type { Tool } from './tool.ts'

/** Something that the people of a conversation should know, and that ends nothing. */
export type Notice = { code: string; detail: string }

export interface ToolSource extends AsyncDisposable {
  /**
   * Gets the tools. Resolves when every one of those who offer some has answered or failed, or when the signal aborts; later
   * calls return at once, and go on with it beside the agent's work.
   */
  prepare(signal: AbortSignal): Promise<void>
  /** Grows whenever `tools` would answer something else. */
  readonly version: number
  /** The tools as of now; those whose names are taken are left out, and that is a notice. */
  tools(taken: ReadonlySet<string>): readonly Tool[]
  /** What has happened since this was last asked. */
  takeNotices(): Notice[]
}
