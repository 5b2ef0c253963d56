/** A workspace in which git commits as its user. Source: seed: Settings record, git_user_name and git_user_email. */
import type { Workspace } from '../workspace/index.ts'

type Variables = Readonly<Record<string, string>>

/**
 * The same workspace, whose processes get these variables too; what a request names itself goes before them. They are asked
 * for with each process, so that a changed setting counts at once.
 */
export function withVariables(workspace: Workspace, variables: () => Promise<Variables>): Workspace {
  const named = async <R extends { env?: Variables }>(request: R): Promise<R> => ({
    ...request,
    env: { ...(await variables()), ...request.env },
  })
  const own: Pick<Workspace, 'exec' | 'terminal' | 'spawn'> = {
    exec: async (request, signal) => workspace.exec(await named(request), signal),
    terminal: async (request, signal) => workspace.terminal(await named(request), signal),
    spawn: async (request, signal) => workspace.spawn(await named(request), signal),
  }
  return new Proxy(workspace, {
    get: (target, name) => {
      if (Object.hasOwn(own, name)) return own[name as keyof typeof own]
      const member = Reflect.get(target, name, target) as unknown
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}
