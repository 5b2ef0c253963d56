/** Checks of the agent of a start request, made before anything is stored. */
import type { AgentBase, ClientToolSpec } from '@parley/protocol'
import { expectNameFilter } from '../tools/index.ts'
import { expectAcpRecord } from './acp/supported.ts'
import { resolveTools } from './native/native-agent.ts'
import { staticPrompt } from './prompts/system-prompt.ts'
import { openPromptFiles, promptsDir } from './prompts/prompt-files.ts'
import { acpPrompts } from './prompts/values.ts'

/**
 * @throws ParleyError `invalid_input` naming the member: tools that do not exist, members that an ACP agent cannot have, a
 * filter that is no expression or takes too long, files that are not in the prompts folder or cannot be filled.
 */
export async function expectAgent(
  agent: AgentBase,
  clientTools: readonly ClientToolSpec[],
  dataDir: string,
): Promise<void> {
  if (agent.kind === 'Agent') resolveTools(agent, clientTools)
  else {
    expectAcpRecord(agent)
    expectNameFilter(agent.filter_tools_regex)
  }
  const files = await openPromptFiles(promptsDir(dataDir), agent)
  if (agent.kind === 'Agent') staticPrompt(agent, files)
  else acpPrompts(agent, files)
}
