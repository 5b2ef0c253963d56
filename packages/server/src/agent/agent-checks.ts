/** Checks of the agent of a start request, made before anything is stored. */
import { relocate, type AgentBase, type ClientToolSpec, type Place } from '@parley/protocol'
import { placeInAgent, type AgentMember } from '../settings/index.ts'
import { expectNameFilter } from '../tools/index.ts'
import { expectAcpRecord } from './acp/supported.ts'
import { resolveTools } from './native/native-agent.ts'
import { staticPrompt } from './prompts/system-prompt.ts'
import { openPromptFiles, promptsDir } from './prompts/prompt-files.ts'
import { acpPrompts } from './prompts/values.ts'

/**
 * @param from member of the request that described the agent; a refused member is placed below it
 * @throws ParleyError `invalid_input` naming the member: tools that do not exist, members that an ACP agent cannot have, a
 * filter that is no expression or takes too long, files that are not in the prompts folder or cannot be filled.
 */
export async function expectAgent(
  agent: AgentBase,
  clientTools: readonly ClientToolSpec[],
  dataDir: string,
  from: AgentMember = 'agent',
): Promise<void> {
  const placeOf = (at: Place): Place => (at[0] === 'client_tools' ? at : placeInAgent(from, at))
  await relocate(placeOf, () => check(agent, clientTools, dataDir))
}

async function check(agent: AgentBase, clientTools: readonly ClientToolSpec[], dataDir: string): Promise<void> {
  if (agent.kind === 'Agent') resolveTools(agent, clientTools)
  else {
    expectAcpRecord(agent)
    expectNameFilter(agent.filter_tools_regex)
  }
  const files = await openPromptFiles(promptsDir(dataDir), agent)
  if (agent.kind === 'Agent') staticPrompt(agent, files)
  else acpPrompts(agent, files)
}
