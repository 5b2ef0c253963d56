/**
 * Prompt and policy files that an agent's record names. Only what whoever runs the server has put into its `prompts` folder
 * is read; a request cannot have the server read anything else (F23). Source: seed: system_prompt_filename, security_policy_filename.
 */
import { readFile, realpath } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import { ParleyError, type AgentBase } from '@parley/protocol'

type Member = 'system_prompt_filename' | 'security_policy_filename'

/** Names that stand for built-in texts. */
const BUILT_IN: Readonly<Record<Member, readonly string[]>> = {
  system_prompt_filename: ['system_prompt.j2', 'system_prompt_planning.j2'],
  security_policy_filename: ['security_policy.j2', ''],
}

/**
 * The text of the file that a member names, values of `system_prompt_kwargs` put in for `{{ name }}` in a prompt; null for a
 * built-in text.
 * @throws ParleyError `invalid_input` for a file that is not there, or not in the folder.
 */
export async function readPromptFile(
  folder: string,
  member: Member,
  agent: Pick<AgentBase, Member | 'system_prompt_kwargs'>,
): Promise<string | null> {
  const name = agent[member]
  if (BUILT_IN[member].includes(name)) return null
  const root = await realpath(folder).catch(() => null)
  const file = root === null ? null : await realpath(resolve(root, name)).catch(() => null)
  const way = root === null || file === null ? '..' : relative(root, file)
  if (file === null || way === '' || way === '..' || way.startsWith(`..${sep}`)) {
    throw new ParleyError(
      'invalid_input',
      `${member} '${name}' is no built-in text and no file in the server's prompts folder. ` +
        (member === 'system_prompt_filename'
          ? 'Send the text as system_prompt, or have it put there.'
          : 'Put the policy into agent_context.system_message_suffix, or have it put there.'),
      { details: { member } },
    )
  }
  const text = await readFile(file, 'utf8')
  return member === 'system_prompt_filename' ? filled(text, agent.system_prompt_kwargs) : text
}

/** Values in place of their names; a name without a value becomes nothing. */
function filled(text: string, values: Readonly<Record<string, unknown>>): string {
  return text.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : ''
    return typeof value === 'string' ? value : JSON.stringify(value)
  })
}
