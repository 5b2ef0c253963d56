/** The status line of the interactive session. */
import { shortId } from '../find-conversation.ts'
import { plain } from '../paint.ts'
import { nameOfPolicy } from '../policies.ts'
import { usageOf } from '../usage.ts'

/** Members of the state of a conversation. */
export type State = Readonly<Record<string, unknown>>

/** Name of the model in a state; empty before it is known. */
export function modelOf(state: State): string {
  const agent = state['agent'] as { llm?: { model?: unknown } } | null | undefined
  return typeof agent?.llm?.model === 'string' ? plain(agent.llm.model) : ''
}

export function statusText(state: State, id: string, isConnected: boolean): string {
  const { prompt_tokens, completion_tokens, cost } = usageOf(state['stats'])
  const parts = [
    isConnected ? '' : 'reconnecting …',
    modelOf(state),
    `asks ${nameOfPolicy(state['confirmation_policy'])}`,
    `${short(prompt_tokens)} in ${short(completion_tokens)} out`,
    `$${cost.toFixed(cost < 1 ? 4 : 2)}`,
    shortId(id),
  ]
  return parts.filter((part) => part !== '').join(' · ')
}

const short = (count: number): string => (count < 1000 ? String(count) : `${(count / 1000).toFixed(1)}k`)
