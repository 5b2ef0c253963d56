import { abortable } from '../../lib/index.ts'
import type { LiveActions, LiveReader } from '../live-access.ts'
import type { LiveLog } from '../log/live-log.ts'
import { expectText, refusalOf } from '../run/model-refusal.ts'
import type { Running } from '../run/running.ts'
import type { Startup } from '../start/phases/index.ts'

export type AsideParts = { log: Pick<LiveLog, 'openView' | 'isRefusal'>; running: Running; startup: Startup }

/**
 * Returns the agent's answer to a question beside the conversation; only its cost is recorded. Source: agent-core.md 3.8.
 * @throws ParleyError `unavailable` when the model answers without text; the refusal of the model
 */
export function answerAside(
  question: string,
  live: Pick<LiveReader, 'masker' | 'note'> &
    Pick<LiveActions, 'inTurn' | 'expectAccepting' | 'append' | 'inBackground' | 'openAgent'>,
  { log, running, startup }: AsideParts,
  signal: AbortSignal,
): Promise<string> {
  const { masker, note, inTurn, expectAccepting, append, inBackground, openAgent } = live
  return inBackground(async (own) => {
    await abortable(startup.ready(), own)
    await expectAccepting()
    const agent = await openAgent()
    const turn = running.turn(await inTurn(() => log.openView()))
    const { text, drafts } = await agent.ask(question, turn, own).catch((error: unknown) => {
      throw refusalOf(error)
    })
    await turn.settle()
    await inTurn(() => append(drafts)).catch((error: unknown) => {
      if (!log.isRefusal(error)) throw error
      // The answer is there and paid for. Its cost is stored when the store is back, however long that takes.
      note(drafts)
    })
    // The answer passes no commit, so its secret values are hidden here.
    return expectText((await masker()).text(text))
  }, signal)
}
