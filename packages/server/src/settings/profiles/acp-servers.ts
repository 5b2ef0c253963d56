/** The external agents that settings know by name. Source: agent-core.md 11.2. */

export type KnownAcpServer = 'claude-code' | 'codex' | 'gemini-cli'

export type AcpServer = {
  /** How it is started. The version is pinned, so that what was tried is what runs. */
  command: readonly string[]
  /** Variable, and name of the secret, that it reads its key from. */
  apiKey: string
  /** The same for the address of its model. */
  baseUrl: string
}

export const ACP_SERVERS: Readonly<Record<KnownAcpServer, AcpServer>> = {
  'claude-code': {
    command: ['npx', '-y', '@agentclientprotocol/claude-agent-acp@0.100.0'],
    apiKey: 'ANTHROPIC_API_KEY',
    baseUrl: 'ANTHROPIC_BASE_URL',
  },
  codex: {
    command: ['npx', '-y', '@agentclientprotocol/codex-acp@2.6.0'],
    apiKey: 'OPENAI_API_KEY',
    baseUrl: 'OPENAI_BASE_URL',
  },
  'gemini-cli': {
    command: ['npx', '-y', '@google/gemini-cli@0.61.0', '--acp'],
    apiKey: 'GEMINI_API_KEY',
    baseUrl: 'GEMINI_BASE_URL',
  },
}

/** The one of this name; null for `custom` and what is not known. */
export const acpServerOf = (name: string): AcpServer | null =>
  Object.hasOwn(ACP_SERVERS, name) ? ACP_SERVERS[name as KnownAcpServer] : null
