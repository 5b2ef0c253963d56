/** Blocks in front of a message: the context once per session, a transcript for a new session, and a warning about a retry. */
import type { ACPAgent, ConversationState, MessageEvent } from '@parley/protocol'
import { sessionContext } from './context.ts'
import type { AcpAgentDeps } from './prompt-state.ts'
import type { AgentSecrets } from '../acp-process.ts'
import { INTERRUPTED, type PromptBlock } from './prompts.ts'
import type { Session } from '../session/session.ts'
import { readState } from '../state.ts'
import { transcript } from './transcript.ts'

type ContextDeps = Pick<AcpAgentDeps, 'promptFile' | 'policyFile' | 'now'>

/** The context of a session. Secrets that are provided as files are not listed as variables. */
export function contextText(
  agent: ACPAgent,
  names: AgentSecrets['names'],
  { promptFile, policyFile, now }: ContextDeps,
): string {
  const asFiles = new Set(agent.acp_file_secrets.map(({ secret_name }) => secret_name))
  const secrets = names.filter(({ name }) => !asFiles.has(name))
  return sessionContext({ agent, promptFile, policyFile, secrets, now: now?.() ?? new Date() })
}

export async function openingBlocks(
  agent: ACPAgent,
  { session, message, state }: { session: Session; message: MessageEvent; state: ConversationState },
  deps: ContextDeps & Pick<AcpAgentDeps, 'secrets' | 'branch'>,
): Promise<PromptBlock[]> {
  const before = readState(state)
  const texts: string[] = []
  if (!before.acp_suffix_installed) {
    texts.push(contextText(agent, (await deps.secrets()).names, deps))
    // The id is cleared for a new session and set by its first prompt.
    const isNew = !session.isResumed && before.acp_last_prompt_user_message_id === null
    if (isNew && state.leaf_event_id !== null) {
      const branch = await deps.branch(state.leaf_event_id)
      const at = branch.findIndex(({ id }) => id === message.id)
      // A message that a hook has blocked reaches no agent, not even in a transcript.
      const earlier = branch.slice(0, at === -1 ? branch.length : at)
      texts.push(transcript(earlier.filter(({ id }) => !Object.hasOwn(state.blocked_messages, id))))
    }
  }
  if (before.acp_inflight_prompt_user_message_id === message.id) texts.push(INTERRUPTED)
  return texts.filter((text) => text !== '').map((text) => ({ type: 'text', text }))
}
