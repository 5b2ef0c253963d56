/** External agents that settings select by name. Source: agent-core.md 11.2. */

export type KnownAcpServer = 'claude-code' | 'codex' | 'gemini-cli'

export type AcpServer = {
  /** Command line. The version is pinned to the tested one. */
  command: readonly string[]
  /** The environment variable, and name of the secret, with its key. */
  apiKey: string
  /** The environment variable, and name of the secret, with the address of its model. */
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

/** The agent of this name; null for `custom` and for an unknown name. */
export const acpServerOf = (name: string): AcpServer | null =>
  Object.hasOwn(ACP_SERVERS, name) ? ACP_SERVERS[name as KnownAcpServer] : null
