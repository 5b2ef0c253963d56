/** Lists the files whose path matches a pattern. Source: agent-core.md 8.8. */
import { GlobAction, textContent, type GlobObservation } from '@parley/protocol'
import { defineTool } from '../define.ts'
import { Refusal } from '../refusal.ts'
import { describeResult, search } from './search.ts'
import type { Tool } from '../tool.ts'
import { splitPattern } from './split-pattern.ts'

const DESCRIPTION = `Finds files by the pattern of their path, and gives their absolute paths, those changed last first, at most 100.

- \`*\` and \`?\` stay within a name, \`**\` crosses directories, \`{a,b}\` and \`[a-z]\` are alternatives. A pattern without a slash is looked for at any depth.
- Directories, hidden files and what version control ignores are left out; a hidden name is found when the pattern writes its dot, as in \`.github/**/*.yml\`.`

const PARAMETERS = {
  type: 'object',
  properties: {
    pattern: { type: 'string', description: 'For example `*.py`, `src/**/*.{ts,tsx}` or `**/test_*.go`.' },
    path: { type: 'string', description: 'The directory to search in. Default: the working directory.' },
  },
  required: ['pattern'],
}

/** The `glob` tool. `confine`: it searches only below the working directory. */
export function globTool({ confine = false }: { confine?: boolean | undefined } = {}): Tool {
  return defineTool<GlobAction>({
    kind: 'Glob',
    name: 'glob',
    description: DESCRIPTION,
    parameters: PARAMETERS,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    parse: (args) => GlobAction.parse({ ...args, kind: 'GlobAction' }),
    resources: () => [],
    async execute({ pattern, path }, context): Promise<GlobObservation> {
      const split = splitPattern(pattern.trim())
      const asked = split.dir ?? (path === null || path === '' ? '.' : path)
      const dir = /^~(\/|$)/.test(asked) ? asked : context.workspace.resolve(asked)
      const answer = { kind: 'GlobObservation' as const, pattern }
      try {
        const found = await search({ dir, glob: split.glob === '' ? '**' : split.glob, text: null, confine }, context)
        const content = [textContent(describeResult(found, `names like ${split.glob || '**'} in ${found.dir}`))]
        const { files, truncated } = found
        return { ...answer, content, is_error: false, files, search_path: found.dir, truncated }
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        const content = [textContent(error.message)]
        return { ...answer, content, is_error: true, files: [], search_path: dir, truncated: false }
      }
    },
  })
}
