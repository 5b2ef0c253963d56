/** Questions beside the conversation, sent to a fork of the session that may change nothing. Source: agent-core.md 11.10, F60. */
import { newEventId, ParleyError, type ACPAgent } from '@parley/protocol'
import { Mailbox } from '../../../lib/index.ts'
import type { SideAnswer, StepContext } from '../../agent.ts'
import { CANCELLED, type Connection } from '../process/connection.ts'
import { detailOf, isRequestFailure } from '../failure.ts'
import type { RunningSession, AcpProcess } from '../acp-process.ts'
import { PromptTurn } from './turn.ts'
import { NO_USAGE, tokensOf, usageDraft } from '../session/usage.ts'

/** Names of modes in which agents change nothing. */
const READ_ONLY_MODES = ['read-only', 'plan', 'ask']
/** Milliseconds that the agent has to close the fork. */
const CLOSE_MS = 5000
const FRAME = (question: string) =>
  '[A question beside the task. Answer it in words, from what you know by now. Change nothing, and do not go on with the ' +
  `task: neither this question nor your answer becomes part of the conversation.]\n\n${question}`

export class SideQuestions {
  readonly #process: AcpProcess
  readonly #config: ACPAgent
  /** Runs one question at a time. */
  readonly #mailbox = new Mailbox()

  constructor(process: AcpProcess, config: ACPAgent) {
    this.#process = process
    this.#config = config
  }

  /**
   * Returns the agent's answer and its usage.
   * @throws ParleyError `conflict` without a session, `bad_request` for an agent that cannot fork one, `unavailable` when it fails.
   */
  ask(question: string, _view: StepContext, signal: AbortSignal): Promise<SideAnswer> {
    return this.#mailbox.run(async () => {
      signal.throwIfAborted()
      const { running } = this.#process
      if (running === null)
        throw new ParleyError(
          'conflict',
          'The agent has no session now. Send it a message first, and ask while it is there.',
        )
      if (!running.session.canFork)
        throw new ParleyError(
          'bad_request',
          'This ACP agent cannot answer beside the conversation. Send it a message instead.',
        )
      try {
        return await this.#answer(running, question, signal)
      } catch (error) {
        if (signal.aborted || error instanceof ParleyError) throw error
        throw new ParleyError('unavailable', `The agent did not answer: ${detailOf(error)}`, { cause: error })
      }
    })
  }

  async #answer({ connection, session }: RunningSession, question: string, signal: AbortSignal): Promise<SideAnswer> {
    const { sessionId } = await connection.request(
      'session/fork',
      { sessionId: session.id, cwd: session.cwd, mcpServers: [] },
      signal,
    )
    if (typeof sessionId !== 'string') throw new Error('the agent copied the session without naming the copy')
    const idleMs = Math.max(this.#config.acp_prompt_timeout, 0) * 1000
    const turn = new PromptTurn({ connection, sessionId, idleMs, emit: () => undefined, usage: NO_USAGE })
    // The fork may change nothing, so every permission request is cancelled.
    const unsubscribe = this.#process.listen(sessionId, {
      onUpdate: (update) => turn.onUpdate(update),
      onPermissionRequest: () => Promise.resolve(CANCELLED),
    })
    try {
      await setReadOnly(connection, sessionId, session.modes.available, signal)
      turn.start([{ type: 'text', text: FRAME(question) }])
      for (;;) {
        const event = await turn.next(signal)
        if (event.kind !== 'end') continue
        const { end } = event
        if (end.kind === 'failed') throw end.failure
        if (end.kind !== 'completed') throw new ParleyError('unavailable', 'The agent did not answer in time.')
        const responseId = `acp_aside_${newEventId()}`
        const model = session.models.current ?? this.#config.llm.model
        const latency = (performance.now() - turn.startedAt) / 1000
        const { sessionCost: cost, contextWindow } = turn.usage
        const tokens = tokensOf(end.answer)
        const usage = usageDraft({
          usageId: this.#config.llm.usage_id,
          model,
          responseId,
          tokens,
          cost,
          contextWindow,
          latency,
        })
        return { text: turn.text.trim(), drafts: [usage] }
      }
    } finally {
      unsubscribe()
      if (signal.aborted) await turn.cancel()
      if (connection.isOpen)
        await connection.request('session/close', { sessionId }, AbortSignal.timeout(CLOSE_MS)).catch(() => undefined)
    }
  }
}

async function setReadOnly(
  connection: Connection,
  sessionId: string,
  available: readonly string[] | null,
  signal: AbortSignal,
): Promise<void> {
  const mode = READ_ONLY_MODES.find((id) => available?.includes(id))
  if (mode === undefined) return
  await connection.request('session/set_mode', { sessionId, modeId: mode }, signal).catch((error: unknown) => {
    if (!isRequestFailure(error)) throw error
  })
}
