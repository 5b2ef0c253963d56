/** Files of the server's machine and of workspaces. Source: agent-server-wire.md 1.8 and 3. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { BYTES, type Cases, detail, invalid, LIST, type Place, SUCCESS, TEXT, UNKNOWN } from './case.ts'
import { repository } from './commands.ts'

/** Multipart with one part. */
function form(name: string): FormData {
  const body = new FormData()
  body.append(name, new Blob(['contents']), 'a.txt')
  return body
}

const file = '/api/file'
const at = (path: string, operation: string) => `${file}/${operation}?path=${encodeURIComponent(path)}`
const written = (place: Place) => {
  writeFileSync(place.file('a.txt'), 'contents')
  return place.file('a.txt')
}
const onDisk: Cases = {
  'POST /api/file/upload': [
    {
      says: 'into a folder that is made',
      status: 200,
      shape: SUCCESS,
      ask: (place) => ({ path: at(place.file('up', 'a.txt'), 'upload'), form: form('file') }),
    },
    {
      says: 'a relative path',
      status: 400,
      shape: detail('Path must be absolute'),
      ask: () => ({ path: at('a.txt', 'upload'), form: form('file') }),
    },
    {
      says: 'no part called file',
      status: 422,
      shape: invalid('body', 'file'),
      ask: (place) => ({ path: at(place.file('a.txt'), 'upload'), form: form('other') }),
    },
  ],
  'GET /api/file/download': [
    { says: 'the bytes', status: 200, shape: 'contents', ask: (place) => ({ path: at(written(place), 'download') }) },
    {
      says: 'a missing one',
      status: 404,
      shape: detail('File not found'),
      ask: (place) => ({ path: at(place.file('none'), 'download') }),
    },
    {
      says: 'a folder',
      status: 400,
      shape: detail('Path is not a file'),
      ask: (place) => ({ path: at(place.file(), 'download') }),
    },
    {
      says: 'a relative path',
      status: 400,
      shape: detail('Path must be absolute'),
      ask: () => ({ path: at('a.txt', 'download') }),
    },
  ],
  'POST /api/file/create_directory': [
    {
      says: 'several at once',
      status: 200,
      shape: SUCCESS,
      ask: (place) => ({ path: at(place.file('x', 'y'), 'create_directory') }),
    },
    {
      says: 'one that is there',
      status: 200,
      shape: SUCCESS,
      ask: (place) => ({ path: at(place.file(), 'create_directory') }),
    },
    {
      says: 'where a file is',
      status: 400,
      shape: detail('Path exists and is not a directory'),
      ask: (place) => ({ path: at(written(place), 'create_directory') }),
    },
  ],
  'GET /api/file/home': [
    {
      says: 'where to begin',
      status: 200,
      shape: { home: TEXT, favorites: LIST, locations: [{ label: TEXT, path: '/' }] },
    },
  ],
  'GET /api/file/search_subdirs': [
    {
      says: 'folders only',
      status: 200,
      shape: { items: [{ name: 'y', path: TEXT }], next_page_id: null },
      ask: (place) => {
        mkdirSync(place.file('x', 'y'), { recursive: true })
        return { path: at(place.file('x'), 'search_subdirs') }
      },
    },
    {
      says: 'a missing one',
      status: 404,
      shape: detail('Directory not found'),
      ask: (place) => ({ path: at(place.file('none'), 'search_subdirs') }),
    },
    {
      says: 'a file',
      status: 400,
      shape: detail('Path is not a directory'),
      ask: (place) => ({ path: at(written(place), 'search_subdirs') }),
    },
    {
      says: 'a limit of 101',
      status: 422,
      shape: invalid('query', 'limit'),
      ask: () => ({ path: `${at('/', 'search_subdirs')}&limit=101` }),
    },
  ],
  'GET /api/file/download-trajectory/{id}': [
    {
      says: 'a zip',
      status: 200,
      shape: BYTES('PK'),
      ask: async (place) => ({ path: `${file}/download-trajectory/${(await place.finished()).id}` }),
    },
    {
      says: 'unknown id',
      status: 404,
      shape: detail('Conversation not found'),
      ask: () => ({ path: `${file}/download-trajectory/${UNKNOWN}` }),
    },
  ],
  'GET /api/file/archive': [
    {
      says: 'a tree',
      status: 200,
      shape: BYTES('\u001f'),
      ask: (place) => ({ path: `${at(repository(place), 'archive')}&format=tar.gz` }),
    },
    {
      says: 'a relative path',
      status: 400,
      shape: detail(),
      ask: () => ({ path: at('x', 'archive') }),
    },
    {
      says: 'a missing one',
      status: 404,
      shape: detail(),
      ask: (place) => ({ path: at(place.file('none'), 'archive') }),
    },
  ],
}

const inWorkspaces: Cases = {
  'POST /api/auth/workspace-session': [{ says: 'a cookie', status: 204, shape: null }],
  'DELETE /api/auth/workspace-session': [{ says: 'taken back', status: 204, shape: null }],
  'GET /api/conversations/{id}/workspace': [
    {
      says: 'the page',
      status: 200,
      shape: '<p>Rhubarb</p>',
      ask: (place) => {
        mkdirSync(place.bench.workingDir, { recursive: true })
        writeFileSync(`${place.bench.workingDir}/index.html`, '<p>Rhubarb</p>')
        return {}
      },
    },
    {
      says: 'unknown id',
      status: 404,
      shape: detail(),
      ask: () => ({ path: `/api/conversations/${UNKNOWN}/workspace` }),
    },
  ],
  'GET /api/conversations/{id}/workspace/{file_path}': [
    {
      says: 'a file',
      status: 200,
      shape: '<p>Rhubarb</p>',
      ask: async (place) => ({ path: `/api/conversations/${(await place.idle()).id}/workspace/index.html` }),
    },
    {
      says: 'a missing one',
      status: 404,
      shape: detail('File not found'),
      ask: async (place) => ({ path: `/api/conversations/${(await place.idle()).id}/workspace/none` }),
    },
    {
      says: 'outside',
      status: 400,
      shape: detail('Path is outside the workspace'),
      ask: async (place) => ({ path: `/api/conversations/${(await place.idle()).id}/workspace/%2e%2e%2fsecret-key` }),
    },
  ],
}

export const fileCases: Cases = { ...onDisk, ...inWorkspaces }
