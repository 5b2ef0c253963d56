/** Composes the MCP servers: those of conversations, and those that users try. */
import type { Config } from '../config/index.ts'
import type { Egress } from '../egress/index.ts'
import type { Log } from '../observability/index.ts'
import type { CommandSecrets } from '../settings/index.ts'
import { openConversationMcp, openTryServer, type ConversationMcp, type TryServer } from '../tools/index.ts'
import type { RootsOf, Workspaces } from '../workspace/index.ts'

export type McpDeps = {
  config: Config
  egress: Egress
  workspaces: Workspaces
  roots: RootsOf
  commandSecrets: CommandSecrets
  log: Log
}

export function composeMcp({ config, egress, workspaces, roots, commandSecrets, log }: McpDeps): {
  mcp: ConversationMcp
  tryServer: TryServer
} {
  const fetch = egress.fetch({ member: 'url', own: [config.searchUrl] })
  const mcp = openConversationMcp({
    workspaces,
    trusted: config.trustedMcpServers,
    fetch,
    isSandboxed: config.sandbox.mode !== 'off',
    loadFullMatch: async () => (await import('../security/index.ts')).fullMatch,
    log,
  })
  const tryServer = openTryServer({
    workspaces,
    roots,
    fetch,
    secretsFor: (user) => commandSecrets.secretsFor(user),
    hide: async (user, text) => (await commandSecrets.masker(user)).text(text),
  })
  return { mcp, tryServer }
}
