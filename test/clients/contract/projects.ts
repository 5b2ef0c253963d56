/** Hooks, skills and sub-agents of a project, and saved workspaces. Source: agent-server-wire.md 1.2 and 1.13. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import { type Cases, detail, invalid, LIST, OBJECT, type Place } from './case.ts'

/** A folder with hooks. */
function project(place: Place): string {
  const folder = place.file('project')
  mkdirSync(`${folder}/.openhands`, { recursive: true })
  const hooks = [{ matcher: 'terminal', hooks: [{ command: 'true' }] }]
  writeFileSync(`${folder}/AGENTS.md`, 'Use tabs.\n')
  writeFileSync(`${folder}/.openhands/hooks.json`, JSON.stringify({ PreToolUse: hooks }))
  return folder
}

const item = { id: 'a', name: 'a', path: '/a' }
const list = { workspaces: LIST, workspaceParents: LIST }

export const projectCases: Cases = {
  'POST /api/hooks': [
    {
      says: 'those of a project',
      status: 200,
      shape: {
        hook_config: expect.objectContaining({ pre_tool_use: [expect.objectContaining({ matcher: 'terminal' })] }),
      },
      ask: (place) => ({ body: { project_dir: project(place) } }),
    },
    { says: 'none without a project', status: 200, shape: { hook_config: null }, ask: () => ({ body: {} }) },
    {
      says: 'none where there are none',
      status: 200,
      shape: { hook_config: null },
      ask: () => ({ body: { project_dir: '/not/here' } }),
    },
    {
      says: 'a folder that is no text',
      status: 422,
      shape: invalid('body', 'project_dir'),
      ask: () => ({ body: { project_dir: 1 } }),
    },
  ],
  'POST /api/skills': [
    {
      says: 'those of a project',
      status: 200,
      shape: {
        skills: [
          {
            name: 'agents',
            type: 'repo',
            content: 'Use tabs.',
            triggers: [],
            source: expect.stringContaining('AGENTS.md'),
            description: null,
            is_agentskills_format: false,
            disable_model_invocation: false,
          },
        ],
        sources: { public: 0, user: 0, project: 1, org: 0, sandbox: 0 },
      },
      ask: (place) => ({
        body: { project_dir: project(place), load_public: false, load_user: false, load_org: false },
      }),
    },
    {
      says: 'none where there are none',
      status: 200,
      shape: { skills: [], sources: OBJECT },
      ask: () => ({ body: { project_dir: '/not/here', load_user: false } }),
    },
    {
      says: 'a folder that is no text',
      status: 422,
      shape: invalid('body', 'project_dir'),
      ask: () => ({ body: { project_dir: 1 } }),
    },
  ],
  'POST /api/sub-agents': [
    {
      says: 'those of a project',
      status: 200,
      shape: { agents: LIST },
      ask: (place) => ({ body: { project_dir: project(place), load_user: false } }),
    },
  ],
  'POST /api/workspaces': [
    { says: 'one', status: 200, shape: list, ask: () => ({ body: { workspaces: [item] } }) },
    {
      says: 'no path',
      status: 422,
      shape: { detail: LIST },
      ask: () => ({ body: { workspaces: [{ id: 'a', name: 'a' }] } }),
    },
  ],
  'POST /api/workspaces/parents': [
    { says: 'one', status: 200, shape: list, ask: () => ({ body: { parents: [item] } }) },
  ],
  'GET /api/workspaces': [{ says: 'all', status: 200, shape: { workspaces: [item], workspaceParents: [item] } }],
  'DELETE /api/workspaces': [
    { says: 'one', status: 200, shape: { deleted: true }, ask: () => ({ path: '/api/workspaces?path=/a' }) },
    {
      says: 'an unknown one',
      status: 404,
      shape: detail('Workspace not found'),
      ask: () => ({ path: '/api/workspaces?path=/b' }),
    },
  ],
  'DELETE /api/workspaces/parents': [
    { says: 'one', status: 200, shape: { deleted: true }, ask: () => ({ path: '/api/workspaces/parents?path=/a' }) },
    {
      says: 'an unknown one',
      status: 404,
      shape: detail('Workspace parent not found'),
      ask: () => ({ path: '/api/workspaces/parents?path=/b' }),
    },
  ],
}
