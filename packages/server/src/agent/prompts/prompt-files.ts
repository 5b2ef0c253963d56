/**
 * Prompt and policy files that an agent's record names. Only files that the operator has put into the server's `prompts` folder
 * are read; a request cannot make the server read anything else (F23). Source: interface.md, ACPAgent.
 */
import { open, realpath, type FileHandle } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type AgentBase, invalidInput } from '@parley/protocol'
import { isInside } from '../../lib/index.ts'
import type { PromptFiles } from './files.ts'

type Member = 'system_prompt_filename' | 'security_policy_filename'

/** Bytes of one file. */
const MAX_BYTES = 262_144

/** Names that stand for built-in texts. */
const BUILT_IN: Readonly<Record<Member, readonly string[]>> = {
  system_prompt_filename: ['system_prompt.j2', 'system_prompt_planning.j2'],
  security_policy_filename: ['security_policy.j2', ''],
}

/** Folder of the prompt and policy files that the operator provides. */
export const promptsDir = (dataDir: string): string => join(dataDir, 'prompts')

/**
 * The files that an agent names; touches nothing when it names none.
 * @throws ParleyError `invalid_input` naming the member, for a file that is missing, outside the folder or too large, and for a
 * template that cannot be read.
 */
export async function openPromptFiles(folder: string, agent: Pick<AgentBase, Member>): Promise<PromptFiles> {
  const text = await read(folder, 'system_prompt_filename', agent)
  const policy = await read(folder, 'security_policy_filename', agent)
  if (text === null) return { template: null, policy }
  const { openTemplate } = await import('./template.ts')
  return { template: await openTemplate(agent.system_prompt_filename, text), policy }
}

/**
 * The files of an agent that is opened. A conversation that already has its system prompt does not need them, so an error in
 * them is thrown by the returned function, when a prompt is made.
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

/** The text of the file that a member names; null for a built-in one. */
async function read(folder: string, member: Member, agent: Pick<AgentBase, Member>): Promise<string | null> {
  const name = agent[member]
  if (BUILT_IN[member].includes(name)) return null
  const file = await inside(folder, name)
  if (file === null) {
    throw refused(
      member,
      `${member} '${name}' is no built-in text and no file in the server's prompts folder. ` +
        (member === 'system_prompt_filename'
          ? 'Send the text as system_prompt, or have it put there.'
          : 'Put the policy into agent_context.system_message_suffix, or have it put there.'),
    )
  }
  await using handle = await open(file, 'r').catch(() => null)
  const text = handle === null ? null : await textOf(handle)
  if (text !== null) return text
  throw refused(
    member,
    `${member} '${name}' is not a readable file of at most ${MAX_BYTES} bytes in the prompts folder.`,
  )
}

/** Real path of the file; null when it is not inside the folder. */
async function inside(folder: string, name: string): Promise<string | null> {
  if (name.includes('\0')) return null
  const root = await realpath(folder).catch(() => null)
  const file = root === null ? null : await realpath(resolve(root, name)).catch(() => null)
  if (root === null || file === null) return null
  return file !== root && isInside(root, file) ? file : null
}

async function textOf(handle: FileHandle): Promise<string | null> {
  const stats = await handle.stat()
  return stats.isFile() && stats.size <= MAX_BYTES ? handle.readFile('utf8') : null
}

const refused = (member: Member, message: string) => invalidInput(message, [member])
