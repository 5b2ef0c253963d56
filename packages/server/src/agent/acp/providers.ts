/** External agents with known modes, variables and command lines. Source: agent-core.md 11.2. */
import { ACP_SERVERS } from '../../settings/index.ts'

type ProviderKey = 'claude-code' | 'codex' | 'gemini-cli'

export type Provider = {
  key: ProviderKey
  /** Packages that an `npx` command line may name, without versions. */
  packages: readonly string[]
  /** Program that is started instead of `npx` where it is installed. */
  binary: string
  apiKey: string
  baseUrl: string
  /** Modes in which the agent asks no permission, best first; used when the policy confirms nothing. */
  unattendedModes: readonly string[]
  /** Modes in which the agent asks before it changes anything, best first. */
  askingModes: readonly string[]
  /** Part of the name that the agent reports. */
  namePart: string
  switchesModels: boolean
  /** Key of the session metadata that takes a model; null: none. */
  metaKey: string | null
  /** Environment variable for the folder of its settings and credentials. */
  dataVariable: string
}

export const PROVIDERS: readonly Provider[] = [
  {
    key: 'claude-code',
    packages: ['@agentclientprotocol/claude-agent-acp', '@zed-industries/claude-code-acp'],
    binary: 'claude-agent-acp',
    apiKey: ACP_SERVERS['claude-code'].apiKey,
    baseUrl: ACP_SERVERS['claude-code'].baseUrl,
    unattendedModes: ['bypassPermissions'],
    askingModes: ['default'],
    namePart: 'claude-agent',
    switchesModels: true,
    metaKey: 'claudeCode',
    dataVariable: 'CLAUDE_CONFIG_DIR',
  },
  {
    key: 'codex',
    packages: ['@agentclientprotocol/codex-acp', '@zed-industries/codex-acp'],
    binary: 'codex-acp',
    apiKey: ACP_SERVERS.codex.apiKey,
    baseUrl: ACP_SERVERS.codex.baseUrl,
    unattendedModes: ['agent-full-access', 'full-access'],
    askingModes: ['read-only'],
    namePart: 'codex-acp',
    switchesModels: true,
    metaKey: null,
    dataVariable: 'CODEX_HOME',
  },
  {
    key: 'gemini-cli',
    packages: ['@google/gemini-cli'],
    binary: 'gemini',
    apiKey: ACP_SERVERS['gemini-cli'].apiKey,
    baseUrl: ACP_SERVERS['gemini-cli'].baseUrl,
    unattendedModes: ['default'],
    askingModes: ['default'],
    namePart: 'gemini-cli',
    switchesModels: true,
    metaKey: null,
    dataVariable: 'HOME',
  },
]

/** The provider that a command line starts; null: unknown. */
export function providerOfCommand(command: readonly string[]): Provider | null {
  const [program = ''] = command
  const name = program.split('/').at(-1)
  const found = PROVIDERS.find(({ binary }) => binary === name)
  if (found !== undefined) return found
  const named = packageAt(command)
  return named === null ? null : (PROVIDERS.find(({ packages }) => packages.includes(named.name)) ?? null)
}

/** The provider for the name that an agent reports; null: unknown. */
export function providerOfName(name: string | null): Provider | null {
  if (name === null) return null
  const lower = name.toLowerCase()
  return PROVIDERS.find(({ namePart: named }) => lower.includes(named)) ?? null
}

/** The command line with the installed binary in place of `npx` and the package; null when it starts no known package. */
export function installedCommand(command: readonly string[]): { binary: string; argv: string[] } | null {
  const named = packageAt(command)
  const provider = named === null ? undefined : PROVIDERS.find(({ packages }) => packages.includes(named.name))
  if (named === null || provider === undefined) return null
  return { binary: provider.binary, argv: [provider.binary, ...command.slice(named.index + 1)] }
}

/** The package of an `npx` command line, without its version, and its index. */
function packageAt(command: readonly string[]): { name: string; index: number } | null {
  if (command[0]?.split('/').at(-1) !== 'npx') return null
  const index = command.findIndex((word, at) => at > 0 && !word.startsWith('-'))
  const word = command[index]
  if (word === undefined) return null
  const at = word.indexOf('@', 1)
  return { name: at === -1 ? word : word.slice(0, at), index }
}
