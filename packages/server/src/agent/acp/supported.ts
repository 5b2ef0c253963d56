/** What the record of an external agent cannot ask for: known from the record alone. Pure. Source: agent-core.md 11.1, 11.12. */
import { basename } from 'node:path'
import { ParleyError, type ACPAgent, type ACPFileSecretSpec } from '@parley/protocol'

/** A member that cannot be kept, and a sentence that names it and the way out. */
export type Unsupported = { member: string; message: string }

/** The first member that cannot be kept; null when all can. */
export function unsupported({ tools, condenser, acp_command, acp_file_secrets }: ACPAgent): Unsupported | null {
  const refused = (member: string, what: string, why: string) => ({
    member,
    message: `${what} is not supported for an ACP agent: ${why}.`,
  })
  if (acp_command.length === 0) return refused('acp_command', 'an empty acp_command', 'name the program that starts it')
  if (tools.length > 0) return refused('tools', 'tools', 'it has its own; leave the list empty, or give it MCP servers')
  if (condenser !== null) return refused('condenser', 'condenser', 'it shortens its own context; leave it out')
  const message = acp_file_secrets.map(misplaced).find((told) => told !== null)
  return message === undefined ? null : { member: 'acp_file_secrets', message }
}

/** Says that a credential file would lie outside of the agent's own folder; null for one that lies in it. */
export function misplaced({ secret_name, filename, subdir }: ACPFileSecretSpec): string | null {
  const isPlainName = filename === basename(filename) && filename !== '.' && filename !== '..'
  const parts = subdir.split('/')
  const isPlainFolder = !subdir.startsWith('/') && parts.every((part) => part !== '' && part !== '.' && part !== '..')
  if (isPlainName && isPlainFolder) return null
  return `acp_file_secrets: the file of ${secret_name} must be a bare name in a folder below, not '${subdir}/${filename}'.`
}

/** Looks at the record of a start request. @throws ParleyError `invalid_input` naming the member. */
export function expectAcpRecord(agent: ACPAgent): void {
  const found = unsupported(agent)
  if (found === null) return
  throw new ParleyError('invalid_input', found.message, { details: { member: found.member } })
}
