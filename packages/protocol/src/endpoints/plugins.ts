/** Endpoint rows for the plugins that a user has installed for all conversations. Source: agent-server-wire.md 1.13. */
import { z } from 'zod'
import { laxBoolean } from '../lax.ts'
import { text } from '../lax-text.ts'
import { endpoint } from './endpoint.ts'

/** What an installed plugin may be called; it cannot lead out of a folder. */
const pluginName = () => text({ pattern: /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/ })

export const PluginSkillSummary = z.object({ name: z.string(), description: z.string().nullable().default(null) })
export type PluginSkillSummary = z.infer<typeof PluginSkillSummary>

export const PluginInfo = z.object({
  name: z.string(),
  version: z.string().default(''),
  description: z.string().default(''),
  path: z.string().default(''),
  skills: z.array(PluginSkillSummary).default([]),
  files: z.array(z.string()).default([]),
})
export type PluginInfo = z.infer<typeof PluginInfo>

export const InstalledPlugin = z.object({
  name: z.string(),
  version: z.string().default(''),
  description: z.string().default(''),
  /** False: kept, and not attached to conversations. */
  enabled: z.boolean().default(true),
  source: z.string(),
  /** The commit that conversations get; null for a folder. */
  resolved_ref: z.string().nullable().default(null),
  repo_path: z.string().nullable().default(null),
  installed_at: z.string(),
  /** Where it was read for the installation. */
  install_path: z.string(),
  skills: z.array(PluginSkillSummary).nullable().default(null),
  /** At most 200 paths. */
  files: z.array(z.string()).nullable().default(null),
})
export type InstalledPlugin = z.infer<typeof InstalledPlugin>

export const InstallPluginRequest = z.object({
  /** `github:owner/name`, an https address of a repository, or a folder of the server's machine. */
  source: text({ min: 1, max: 4096 }),
  /** Branch, tag or commit. */
  ref: z.string().nullable().default(null),
  /** Folder within the source. */
  repo_path: z.string().nullable().default(null),
  /** Replaces an installed plugin of the same name. */
  force: laxBoolean().default(false),
})
export type InstallPluginRequest = z.infer<typeof InstallPluginRequest>

export const PluginsRequest = z.object({
  load_user: laxBoolean().default(true),
  /** Accepted without effect: a project brings no plugins. */
  load_project: laxBoolean().default(true),
  project_dir: z.string().nullable().default(null),
})
export type PluginsRequest = z.infer<typeof PluginsRequest>

const MarketplacePluginInfo = z.object({
  name: z.string(),
  description: z.string().nullable(),
  source: z.string(),
  installed: z.boolean(),
})

const plugins = { tag: 'Plugins', auth: 'session_key' } as const
const one = {
  ...plugins,
  path: '/api/plugins/installed/{plugin_name}',
  params: z.object({ plugin_name: pluginName() }),
} as const
const installed = { status: 200, schema: InstalledPlugin, description: 'The plugin' } as const

export const loadPlugins = endpoint({
  operationId: 'loadPlugins',
  ...plugins,
  method: 'POST',
  path: '/api/plugins',
  description: 'Returns the plugins that conversations of the user get.',
  body: PluginsRequest,
  ok: {
    status: 200,
    schema: z.object({ plugins: z.array(PluginInfo) }),
    description: 'The enabled plugins of the user',
  },
  errors: [],
})

export const installPlugin = endpoint({
  operationId: 'installPlugin',
  ...plugins,
  method: 'POST',
  path: '/api/plugins/install',
  description: 'Installs a plugin, which every later conversation of the user gets.',
  body: InstallPluginRequest,
  ok: installed,
  errors: [400, 409],
})

export const listInstalledPlugins = endpoint({
  operationId: 'listInstalledPlugins',
  ...plugins,
  method: 'GET',
  path: '/api/plugins/installed',
  description: 'Lists the plugins that the user has installed, by name.',
  ok: { status: 200, schema: z.object({ plugins: z.array(InstalledPlugin) }), description: 'Including disabled ones' },
  errors: [],
})

export const getInstalledPlugin = endpoint({
  operationId: 'getInstalledPlugin',
  ...one,
  method: 'GET',
  description: 'Returns an installed plugin.',
  ok: installed,
  errors: [404],
})

export const enablePlugin = endpoint({
  operationId: 'enablePlugin',
  ...one,
  method: 'PATCH',
  description: 'Enables or disables an installed plugin for later conversations.',
  body: z.object({ enabled: laxBoolean() }),
  ok: { status: 200, schema: z.object({ name: z.string(), enabled: z.boolean() }), description: 'Changed' },
  errors: [404],
})

export const uninstallPlugin = endpoint({
  operationId: 'uninstallPlugin',
  ...one,
  method: 'DELETE',
  description: 'Removes an installed plugin; conversations that have it keep it.',
  ok: { status: 200, schema: z.object({ message: z.string() }), description: 'Removed' },
  errors: [404],
})

export const refreshPlugin = endpoint({
  operationId: 'refreshPlugin',
  ...one,
  method: 'POST',
  path: '/api/plugins/installed/{plugin_name}/refresh',
  description: 'Reads an installed plugin from its source again.',
  ok: {
    status: 200,
    schema: z.object({ message: z.string(), plugin: InstalledPlugin }),
    description: 'The plugin with its present commit',
  },
  errors: [400, 404, 409],
})

export const listPluginMarketplace = endpoint({
  operationId: 'listPluginMarketplace',
  ...plugins,
  method: 'GET',
  path: '/api/plugins/marketplace',
  description: 'Returns that this server has no marketplace.',
  ok: {
    status: 200,
    schema: z.object({ plugins: z.array(MarketplacePluginInfo), message: z.string() }),
    description: 'Always empty',
  },
  errors: [],
})
