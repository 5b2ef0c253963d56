/** What an agent of a start request names outside of itself, looked at before anything is stored. */
import { join } from 'node:path'
import type { AgentBase, ClientToolSpec } from '@parley/protocol'
import { acpPrompts, expectAcpRecord, resolveTools, staticPrompt, type PromptFiles } from '../agent/index.ts'
import { openPromptFiles } from './prompt-files.ts'
import { expectNameFilter } from '../tools/index.ts'

/** Where whoever runs the server puts prompt and policy files. */
export const promptsDir = (dataDir: string): string => join(dataDir, 'prompts')

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

/**
 * The files of an agent that is opened. A conversation that has its prompt goes on without them, so what is wrong with them is
 * thrown by whoever makes a prompt.
 */
export async function promptFilesOf(agent: AgentBase, dataDir: string): Promise<() => PromptFiles> {
  try {
    const files = await openPromptFiles(promptsDir(dataDir), agent)
    return () => files
  } catch (error) {
    return () => {
      throw error
    }
  }
}
