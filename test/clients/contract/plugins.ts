/** Plugins that a user has installed. Source: agent-server-wire.md 1.13. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import { type Cases, detail, invalid, LIST, orNull, type Place, TEXT, UTC } from './case.ts'

const PLUGIN = {
  name: 'tools',
  version: '1.0.0',
  description: 'For tests.',
  enabled: true,
  source: TEXT,
  resolved_ref: orNull(TEXT),
  repo_path: orNull(TEXT),
  installed_at: UTC,
  install_path: TEXT,
  skills: LIST,
  files: ['plugin.json'],
}
const INSTALLED = '/api/plugins/installed'

/** The folder of a plugin. */
function folder(place: Place): string {
  const path = place.file('plugin')
  mkdirSync(path, { recursive: true })
  writeFileSync(`${path}/plugin.json`, JSON.stringify({ name: 'tools', version: '1.0.0', description: 'For tests.' }))
  return path
}
const installed = async (place: Place) => {
  await place.call('POST', '/api/plugins/install', { source: folder(place), force: true })
}

/** An operation on a plugin that is not installed, and on a name that no plugin has. */
const unknown = (rest = '', body?: unknown) => [
  {
    says: 'an unknown one',
    status: 404,
    shape: detail("The plugin 'none' is not installed."),
    ask: () => ({ path: `${INSTALLED}/none${rest}`, body }),
  },
  {
    says: 'a name that leads out of a folder',
    status: 422,
    shape: invalid('path', 'plugin_name'),
    ask: () => ({ path: `${INSTALLED}/..%2fx${rest}`, body }),
  },
]

const on =
  (rest: string, body?: unknown) =>
  async (place: Place): Promise<{ path: string; body: unknown }> => {
    await installed(place)
    return { path: `${INSTALLED}/tools${rest}`, body }
  }

export const pluginCases: Cases = {
  'POST /api/plugins': [
    {
      says: 'those of the user',
      status: 200,
      shape: {
        plugins: [
          {
            name: 'tools',
            version: '1.0.0',
            description: 'For tests.',
            path: TEXT,
            skills: [],
            files: ['plugin.json'],
          },
        ],
      },
      ask: async (place) => {
        await installed(place)
        return { body: {} }
      },
    },
    { says: 'none of the user', status: 200, shape: { plugins: [] }, ask: () => ({ body: { load_user: false } }) },
    {
      says: 'a folder that is no text',
      status: 422,
      shape: invalid('body', 'project_dir'),
      ask: () => ({ body: { project_dir: 1 } }),
    },
  ],
  'POST /api/plugins/install': [
    {
      says: 'a folder',
      status: 200,
      shape: PLUGIN,
      ask: (place) => ({ body: { source: folder(place), force: true } }),
    },
    {
      says: 'a name that is taken',
      status: 409,
      shape: detail(expect.stringContaining('is installed')),
      ask: async (place) => {
        await installed(place)
        return { body: { source: folder(place) } }
      },
    },
    { says: 'no plugin', status: 400, shape: detail(), ask: () => ({ body: { source: '/not/here' } }) },
    {
      says: 'another transport',
      status: 422,
      shape: invalid('body', 'source'),
      ask: () => ({ body: { source: 'ext::sh -c true' } }),
    },
    { says: 'no source', status: 422, shape: invalid('body', 'source'), ask: () => ({ body: {} }) },
  ],
  'GET /api/plugins/installed': [{ says: 'all', status: 200, shape: { plugins: LIST } }],
  'GET /api/plugins/installed/{name}': [{ says: 'one', status: 200, shape: PLUGIN, ask: on('') }, ...unknown()],
  'PATCH /api/plugins/installed/{name}': [
    { says: 'disabled', status: 200, shape: { name: 'tools', enabled: false }, ask: on('', { enabled: false }) },
    { says: 'no value', status: 422, shape: invalid('body', 'enabled'), ask: on('', {}) },
    ...unknown('', { enabled: true }),
  ],
  'DELETE /api/plugins/installed/{name}': [
    { says: 'one', status: 200, shape: { message: TEXT }, ask: on('') },
    ...unknown(),
  ],
  'POST /api/plugins/installed/{name}/refresh': [
    { says: 'one', status: 200, shape: { message: TEXT, plugin: PLUGIN }, ask: on('/refresh') },
    ...unknown('/refresh'),
  ],
  'GET /api/plugins/marketplace': [{ says: 'none', status: 200, shape: { plugins: [], message: TEXT } }],
}
