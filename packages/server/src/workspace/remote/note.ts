/** Notes about calls on another agent server. */

export type Note = {
  call: string
  /** Job whose output the call shows. */
  job: string
  /** First byte of the shown output. */
  from: number
  /** `start`: the call starts the job. `look`: the call reads the output of a running job, or types into it. */
  kind: 'start' | 'look'
  token: string
  /** ISO 8601. */
  at: string
}

/** Number of bytes of a job that have been shown. `told`: its exit has been shown too. */
export type Mark = { job: string; upTo: number; told: boolean }
