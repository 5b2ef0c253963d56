/** Questions beside the conversation: asked of a copy of the session, which may change nothing. Source: agent-core.md 11.10, F60. */
import { newEventId, ParleyError, type ACPAgent } from '@parley/protocol'
import { Mailbox } from '../../lib/index.ts'
import type { Asked, Turn } from '../agent.ts'
import type { Connection } from './connection.ts'
import { detailOf, isRequestFailure } from './failure.ts'
import type { Held, Hold } from './hold.ts'
import { CANCELLED } from './permission.ts'
import { PromptTurn } from './turn.ts'
import { NOTHING_SAID, tokensOf, usageDraft } from './usage.ts'

/** Modes in which an agent changes nothing, by the names that agents give them. */
const READING_MODES = ['read-only', 'plan', 'ask']
/** Milliseconds that the agent gets to forget the copy. */
const CLOSE_MS = 5000
const FRAME = (question: string) =>
  '[A question beside the task. Answer it in words, from what you know by now. Change nothing, and do not go on with the ' +
  `task: neither this question nor your answer becomes part of the conversation.]\n\n${question}`

export class Asides {
  readonly #hold: Hold
  readonly #config: ACPAgent
  /** One at a time. */
  readonly #mailbox = new Mailbox()

  constructor(hold: Hold, config: ACPAgent) {
    this.#hold = hold
    this.#config = config
  }

  /** @throws ParleyError `conflict` without a session, `bad_request` for an agent that copies none, `unavailable` when it fails. */
  ask(question: string, _view: Turn, signal: AbortSignal): Promise<Asked> {
    return this.#mailbox.run(async () => {
      signal.throwIfAborted()
      const { held } = this.#hold
      if (held === null)
        throw new ParleyError(
          'conflict',
          'The agent has no session now. Send it a message first, and ask while it is there.',
        )
      if (!held.session.canFork)
        throw new ParleyError(
          'bad_request',
          'This ACP agent cannot answer beside the conversation. Send it a message instead.',
        )
      try {
        return await this.#answer(held, question, signal)
      } catch (error) {
        if (signal.aborted || error instanceof ParleyError) throw error
        throw new ParleyError('unavailable', `The agent did not answer: ${detailOf(error)}`, { cause: error })
      }
    })
  }

  async #answer({ connection, session }: Held, question: string, signal: AbortSignal): Promise<Asked> {
    const { sessionId } = await connection.request(
      'session/fork',
      { sessionId: session.id, cwd: session.cwd, mcpServers: [] },
      signal,
    )
    if (typeof sessionId !== 'string') throw new Error('the agent copied the session without naming the copy')
    const idleMs = Math.max(this.#config.acp_prompt_timeout, 0) * 1000
    const turn = new PromptTurn({ connection, sessionId, idleMs, emit: () => undefined, spent: NOTHING_SAID })
    // A copy may change nothing, whoever would allow it.
    const forget = this.#hold.listen(sessionId, {
      hear: (update) => turn.hear(update),
      ask: () => Promise.resolve(CANCELLED),
    })
    try {
      await readOnly(connection, sessionId, session.modes.available, signal)
      turn.start([{ type: 'text', text: FRAME(question) }])
      for (;;) {
        const happening = await turn.next(signal)
        if (happening.kind !== 'end') continue
        const { end } = happening
        if (end.kind === 'failed') throw end.failure
        if (end.kind !== 'completed') throw new ParleyError('unavailable', 'The agent did not answer in time.')
        const responseId = `acp_aside_${newEventId()}`
        const model = session.models.current ?? this.#config.llm.model
        const latency = (performance.now() - turn.startedAt) / 1000
        const { sessionCost: cost, contextWindow } = turn.spent
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
      forget()
      if (signal.aborted) await turn.cancel()
      if (connection.isOpen)
        await connection.request('session/close', { sessionId }, AbortSignal.timeout(CLOSE_MS)).catch(() => undefined)
    }
  }
}

async function readOnly(
  connection: Connection,
  sessionId: string,
  available: readonly string[] | null,
  signal: AbortSignal,
): Promise<void> {
  const mode = READING_MODES.find((id) => available?.includes(id))
  if (mode === undefined) return
  await connection.request('session/set_mode', { sessionId, modeId: mode }, signal).catch((error: unknown) => {
    if (!isRequestFailure(error)) throw error
  })
}
