import { abortable } from '../../lib/index.ts'
import type { LiveActions, LiveReader } from '../live-access.ts'
import type { LiveLog } from '../log/live-log.ts'
import { expectText, refusalOf } from '../run/model-refusal.ts'
import type { Running } from '../run/running.ts'
import type { Startup } from '../start/phases/index.ts'

export type AsideParts = { log: Pick<LiveLog, 'openView'>; running: Running; startup: Startup }

/**
 * Returns the agent's answer to a question beside the conversation; only its cost is recorded. Source: agent-core.md 3.8.
 * @throws ParleyError `unavailable` when the model answers without text; the refusal of the model
 */
export function answerAside(
  question: string,
  live: Pick<LiveReader, 'masker'> &
    Pick<LiveActions, 'inTurn' | 'untilStored' | 'expectAccepting' | 'append' | 'inBackground' | 'openAgent'>,
  { log, running, startup }: AsideParts,
  signal: AbortSignal,
): Promise<string> {
  const { masker, inTurn, untilStored, expectAccepting, append, inBackground, openAgent } = live
  return inBackground(async (own) => {
    await abortable(startup.ready(), own)
    await expectAccepting()
    const agent = await openAgent()
    const turn = running.turn(await inTurn(() => log.openView()))
    const { text, drafts } = await agent.ask(question, turn, own).catch((error: unknown) => {
      throw refusalOf(error)
    })
    await turn.settle()
    await untilStored(() => append(drafts), own)
    // The answer passes no commit, so its secret values are hidden here.
    return expectText((await masker()).text(text))
  }, signal)
}
