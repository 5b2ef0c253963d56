/** Skills that a user has installed. Source: agent-server-wire.md 1.13. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import { type Cases, detail, invalid, LIST, orNull, type Place, TEXT, UTC } from './case.ts'

const SKILL = {
  name: 'tags',
  version: '1.0.0',
  description: 'About tags.',
  enabled: true,
  source: TEXT,
  resolved_ref: orNull(TEXT),
  repo_path: orNull(TEXT),
  installed_at: UTC,
  install_path: TEXT,
}
const INSTALLED = '/api/skills/installed'

/** The folder of a skill. */
function folder(place: Place): string {
  const path = place.file('tags')
  mkdirSync(path, { recursive: true })
  writeFileSync(`${path}/SKILL.md`, '---\nname: tags\ndescription: About tags.\n---\nTag it.')
  return path
}

const unknown = (rest = '', body?: unknown) => [
  {
    says: 'an unknown one',
    status: 404,
    shape: detail("The skill 'none' is not installed."),
    ask: () => ({ path: `${INSTALLED}/none${rest}`, body }),
  },
  {
    says: 'a name that leads out of a folder',
    status: 422,
    shape: invalid('path', 'skill_name'),
    ask: () => ({ path: `${INSTALLED}/..%2fx${rest}`, body }),
  },
]

const on =
  (rest: string, body?: unknown) =>
  async (place: Place): Promise<{ path: string; body: unknown }> => {
    await place.call('POST', '/api/skills/install', { source: folder(place), force: true })
    return { path: `${INSTALLED}/tags${rest}`, body }
  }

export const installedSkillCases: Cases = {
  'POST /api/skills/install': [
    { says: 'a folder', status: 200, shape: SKILL, ask: (place) => ({ body: { source: folder(place), force: true } }) },
    {
      says: 'a name that is taken',
      status: 409,
      shape: detail(expect.stringContaining('is installed')),
      ask: async (place) => {
        await on('')(place)
        return { body: { source: folder(place) } }
      },
    },
    { says: 'no skill', status: 400, shape: detail(), ask: () => ({ body: { source: '/not/here' } }) },
    { says: 'no source', status: 422, shape: invalid('body', 'source'), ask: () => ({ body: {} }) },
  ],
  'GET /api/skills/installed': [{ says: 'all', status: 200, shape: { skills: LIST } }],
  'GET /api/skills/installed/{name}': [{ says: 'one', status: 200, shape: SKILL, ask: on('') }, ...unknown()],
  'PATCH /api/skills/installed/{name}': [
    { says: 'disabled', status: 200, shape: { name: 'tags', enabled: false }, ask: on('', { enabled: false }) },
    { says: 'no value', status: 422, shape: invalid('body', 'enabled'), ask: on('', {}) },
    ...unknown('', { enabled: true }),
  ],
  'DELETE /api/skills/installed/{name}': [
    { says: 'one', status: 200, shape: { message: TEXT }, ask: on('') },
    ...unknown(),
  ],
  'POST /api/skills/installed/{name}/refresh': [
    { says: 'one', status: 200, shape: { message: TEXT, skill: SKILL }, ask: on('/refresh') },
    ...unknown('/refresh'),
  ],
  'GET /api/skills/marketplace': [{ says: 'none', status: 200, shape: { skills: [], message: TEXT } }],
  'POST /api/skills/sync': [{ says: 'nothing', status: 200, shape: { status: 'error', message: TEXT } }],
}
