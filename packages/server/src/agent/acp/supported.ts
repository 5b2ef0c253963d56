/** Members of an agent's record that an external agent does not support. Pure. Source: agent-core.md 11.1, 11.12. */
import { basename } from 'node:path'
import { type ACPAgent, type ACPFileSecretSpec, invalidInput } from '@parley/protocol'

/** An unsupported member, and a message that names it and a solution. */
export type Unsupported = { member: string; message: string }

/** The first unsupported member; null: none. */
export function unsupported({ tools, condenser, acp_command, acp_file_secrets }: ACPAgent): Unsupported | null {
  const refused = (member: string, what: string, why: string) => ({
    member,
    message: `${what} is not supported for an ACP agent: ${why}.`,
  })
  if (acp_command.length === 0) return refused('acp_command', 'an empty acp_command', 'name the program that starts it')
  if (tools.length > 0) return refused('tools', 'tools', 'it has its own; leave the list empty, or give it MCP servers')
  if (condenser !== null) return refused('condenser', 'condenser', 'it shortens its own context; leave it out')
  const message = acp_file_secrets.map(misplacedFile).find((problem) => problem !== null)
  return message === undefined ? null : { member: 'acp_file_secrets', message }
}

/** Error message for a credential file outside the agent's own folder; null for a valid one. */
export function misplacedFile({ secret_name, filename, subdir }: ACPFileSecretSpec): string | null {
  const isPlainName = filename === basename(filename) && filename !== '.' && filename !== '..'
  const parts = subdir.split('/')
  const isPlainFolder = !subdir.startsWith('/') && parts.every((part) => part !== '' && part !== '.' && part !== '..')
  if (isPlainName && isPlainFolder) return null
  return `acp_file_secrets: the file of ${secret_name} must be a bare name in a folder below, not '${subdir}/${filename}'.`
}

/** Checks the agent's record of a start request. @throws ParleyError `invalid_input` naming the member. */
export function expectAcpRecord(agent: ACPAgent): void {
  const problem = unsupported(agent)
  if (problem === null) return
  throw invalidInput(problem.message, [problem.member])
}
