import { abortable } from '../../lib/index.ts'
import { expectText, refusalOf } from './ask.ts'
import type { Running } from '../run/running.ts'
import type { Core } from './core.ts'

/**
 * The agent's answer to a question beside the conversation; only its cost is recorded. Source: agent-core.md 3.8.
 * @param started waits for the start of the conversation
 * @throws ParleyError `unavailable` when the model said nothing; whatever else its failure is told as.
 */
export function answerAside(
  question: string,
  { log, mailbox, errands, agent, masker, append }: Core,
  running: Running,
  { started, signal }: { started: () => Promise<void>; signal: AbortSignal },
): Promise<string> {
  return errands.run(async (own) => {
    await abortable(started(), own)
    const opened = await agent.open()
    const turn = running.turn(await mailbox.run(() => log.openView()))
    const { text, drafts } = await opened.ask(question, turn, own).catch((error: unknown) => {
      throw refusalOf(error)
    })
    await turn.settle()
    await mailbox.run(() => append(drafts))
    // It passes no commit, so what is secret in it is hidden here.
    return expectText((await masker()).text(text))
  }, signal)
}
