/** Lists the files with a line that matches. Source: agent-core.md 8.7. */
import { GrepAction, textContent, type GrepObservation } from '@parley/protocol'
import { defineTool } from '../define.ts'
import { Refusal } from '../refusal.ts'
import { describeResult, search } from './search.ts'
import { expectLinear } from './text-pattern.ts'
import type { Tool } from '../tool.ts'

const DESCRIPTION = `Finds the files that contain a line matching a regular expression, and gives their paths, those changed last first, at most 100.

- Upper and lower case are the same. A pattern is looked for within one line.
- Look-around and backreferences are not supported.
- Hidden files and directories and what version control ignores are left out; hidden files are searched when \`include\` names them, as in \`.env*\`.
- To see the lines themselves, view the files, or search with the terminal.`

const PARAMETERS = {
  type: 'object',
  properties: {
    pattern: { type: 'string', description: 'The regular expression, for example `function\\s+\\w+` or `log.*Error`.' },
    path: { type: 'string', description: 'The directory to search in. Default: the working directory.' },
    include: {
      type: 'string',
      description: 'Only files of such names, for example `*.js`, `*.{ts,tsx}` or `src/**/*.py`.',
    },
  },
  required: ['pattern'],
}

/** The `grep` tool. `confine`: it searches only below the working directory. */
export function grepTool({ confine = false }: { confine?: boolean | undefined } = {}): Tool {
  return defineTool<GrepAction>({
    kind: 'Grep',
    name: 'grep',
    description: DESCRIPTION,
    parameters: PARAMETERS,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    parse: (args) => GrepAction.parse({ ...args, kind: 'GrepAction' }),
    resources: () => [],
    async execute({ pattern, path, include }, context): Promise<GrepObservation> {
      const asked = path === null || path === '' ? '.' : path
      const dir = /^~(\/|$)/.test(asked) ? asked : context.workspace.resolve(asked)
      const glob = include === null || include === '' ? null : include
      const answer = { kind: 'GrepObservation' as const, pattern, include_pattern: glob }
      try {
        expectLinear(pattern)
        const found = await search({ dir, glob, text: pattern, confine }, context)
        const what = `pattern ${JSON.stringify(pattern)} in ${found.dir}${glob === null ? '' : `, names like ${glob}`}`
        const content = [textContent(describeResult(found, what))]
        const { files: matches, truncated } = found
        return { ...answer, content, is_error: false, matches, search_path: found.dir, truncated }
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        const content = [textContent(error.message)]
        return { ...answer, content, is_error: true, matches: [], search_path: dir, truncated: false }
      }
    },
  })
}
