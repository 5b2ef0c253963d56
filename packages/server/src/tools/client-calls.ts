import type { ImageContent, TextContent } from '@parley/protocol'

/** Result of a call that a client executed. */
export type ClientResult = { content: (TextContent | ImageContent)[]; is_error: boolean }

/** Calls of one conversation that a client executes, and their results. */
export interface ClientCalls {
  /**
   * Waits for the result of a call; null when none arrived in time. The time begins with the first wait for the call,
   * also when
   * that was in an earlier process.
   * @throws the signal's reason when aborted
   */
  result(callId: string, timeoutMs: number, signal: AbortSignal): Promise<ClientResult | null>
  /** Returns the result if it already arrived; null otherwise. */
  known(callId: string): Promise<ClientResult | null>
}
