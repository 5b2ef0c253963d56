import type { ImageContent, TextContent } from '@parley/protocol'

/** What a client made of a call. */
export type ClientResult = { content: (TextContent | ImageContent)[]; is_error: boolean }

/** Calls of one conversation that a client performs, and whose result it brings back. */
export interface ClientCalls {
  /**
   * The result of a call, once it has come; null when it did not in time. The time begins when a call is first waited for, also
   * by a process before this one.
   * @throws the signal's reason when aborted
   */
  result(callId: string, timeoutMs: number, signal: AbortSignal): Promise<ClientResult | null>
  /** The result that came already; null: none. */
  known(callId: string): Promise<ClientResult | null>
}
