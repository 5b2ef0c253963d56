/** Texts of the output of commands that run, in English. */
export const liveOutput = {
  skipped: 'Earlier output is shown when the command has ended.',
}
