/** Texts of the shell and its pages in English. Numbers, dates and plurals come from `Intl`. */
export const en = {
  name: 'Parley',
  loading: 'Loading',
  tryAgain: 'Try again',
} as const
