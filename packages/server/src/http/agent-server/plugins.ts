/** Plugins that a user has installed for all conversations. Source: agent-server-wire.md 1.13. */
import {
  enablePlugin,
  getInstalledPlugin,
  installPlugin,
  listInstalledPlugins,
  listPluginMarketplace,
  loadPlugins,
  refreshPlugin,
  uninstallPlugin,
} from '@parley/protocol'
import type { InstalledPlugins } from '../../conversation/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

const NO_MARKETPLACE = 'This server has no marketplace. Install plugins from a repository or a folder.'

export function pluginRoutes(installed: InstalledPlugins): Route[] {
  return [
    route(loadPlugins, async ({ body }, { user }) => {
      const all = body.load_user ? await installed.list(user) : []
      const plugins = all
        .filter(({ enabled }) => enabled)
        .map(({ name, version, description, install_path: path, skills, files }) => ({
          name,
          version,
          description,
          path,
          skills: skills ?? [],
          files: files ?? [],
        }))
      return ok(loadPlugins, { plugins })
    }),
    route(installPlugin, async ({ body, callerSignal }, { user }) =>
      ok(installPlugin, await installed.install(user, body, callerSignal())),
    ),
    route(listInstalledPlugins, async (_call, { user }) =>
      ok(listInstalledPlugins, { plugins: await installed.list(user) }),
    ),
    route(getInstalledPlugin, async ({ params }, { user }) =>
      ok(getInstalledPlugin, await installed.get(user, params.plugin_name)),
    ),
    route(enablePlugin, async ({ params: { plugin_name: name }, body: { enabled } }, { user }) => {
      await installed.enable(user, name, enabled)
      return ok(enablePlugin, { name, enabled })
    }),
    route(uninstallPlugin, async ({ params: { plugin_name: name } }, { user }) => {
      await installed.uninstall(user, name)
      return ok(uninstallPlugin, { message: `Plugin '${name}' uninstalled` })
    }),
    route(refreshPlugin, async ({ params: { plugin_name: name }, callerSignal }, { user }) => {
      const plugin = await installed.refresh(user, name, callerSignal())
      return ok(refreshPlugin, { message: `Plugin '${name}' refreshed`, plugin })
    }),
    route(listPluginMarketplace, async () => ok(listPluginMarketplace, { plugins: [], message: NO_MARKETPLACE })),
  ]
}
