/** The external agents that are known by name. Source: agent-core.md 11.2. */
import { ACP_SERVERS } from '../../settings/index.ts'

export type ProviderKey = 'claude-code' | 'codex' | 'gemini-cli'

export type Provider = {
  key: ProviderKey
  /** The package that an `npx` line names, without its version. */
  packages: readonly string[]
  /** Started instead of `npx` where it is installed. */
  binary: string
  apiKey: string
  baseUrl: string
  /** Modes that ask nobody, best first; used when nobody wants to be asked. */
  freeModes: readonly string[]
  /** Modes that ask before anything is changed, best first. */
  askingModes: readonly string[]
  /** Part of the name that the agent gives itself. */
  named: string
  switchesModels: boolean
  /** Key of the session's metadata that takes a model. */
  metaKey: string | null
  /** Variable that names the folder of its settings and credentials. */
  dataVariable: string
}

export const PROVIDERS: readonly Provider[] = [
  {
    key: 'claude-code',
    packages: ['@agentclientprotocol/claude-agent-acp', '@zed-industries/claude-code-acp'],
    binary: 'claude-agent-acp',
    apiKey: ACP_SERVERS['claude-code'].apiKey,
    baseUrl: ACP_SERVERS['claude-code'].baseUrl,
    freeModes: ['bypassPermissions'],
    askingModes: ['default'],
    named: 'claude-agent',
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
    freeModes: ['agent-full-access', 'full-access'],
    askingModes: ['read-only'],
    named: 'codex-acp',
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
    freeModes: ['default'],
    askingModes: ['default'],
    named: 'gemini-cli',
    switchesModels: true,
    metaKey: null,
    dataVariable: 'HOME',
  },
]

/** The provider that a command line starts; null for an unknown one. */
export function providerOfCommand(command: readonly string[]): Provider | null {
  const [program = ''] = command
  const name = program.split('/').at(-1)
  const found = PROVIDERS.find(({ binary }) => binary === name)
  if (found !== undefined) return found
  const named = packageAt(command)
  return named === null ? null : (PROVIDERS.find(({ packages }) => packages.includes(named.name)) ?? null)
}

/** The provider that an agent says it is; null for an unknown one. */
export function providerOfName(name: string | null): Provider | null {
  if (name === null) return null
  const lower = name.toLowerCase()
  return PROVIDERS.find(({ named }) => lower.includes(named)) ?? null
}

/** The same agent started from its installed binary: what followed the package stays. Null when the line starts no package. */
export function installedCommand(command: readonly string[]): { binary: string; argv: string[] } | null {
  const named = packageAt(command)
  const provider = named === null ? undefined : PROVIDERS.find(({ packages }) => packages.includes(named.name))
  if (named === null || provider === undefined) return null
  return { binary: provider.binary, argv: [provider.binary, ...command.slice(named.index + 1)] }
}

/** The package of an `npx` line, without its version. */
function packageAt(command: readonly string[]): { name: string; index: number } | null {
  if (command[0]?.split('/').at(-1) !== 'npx') return null
  const index = command.findIndex((word, at) => at > 0 && !word.startsWith('-'))
  const word = command[index]
  if (word === undefined) return null
  const at = word.indexOf('@', 1)
  return { name: at === -1 ? word : word.slice(0, at), index }
}
