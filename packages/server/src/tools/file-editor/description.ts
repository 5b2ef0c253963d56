/** Description of the editor for the model. */

export const DESCRIPTION = `Views, creates and edits text files. What an edit does not touch keeps its exact bytes, line endings and encoding.

Commands:
- view: a file with line numbers (all of it, or the lines of view_range), an image, or a directory two levels deep.
- create: a new file with file_text. Refused when the path exists; missing parent directories are made.
- str_replace: replaces old_str by new_str. old_str must match the file exactly, white space included, and must occur exactly once: include enough of the lines around it to make it unique. An empty new_str deletes.
- insert: puts new_str as whole lines after line insert_line; 0 is the beginning of the file.
- undo_edit: takes back the last edit that this tool made to the file. Undoing a create removes the file.

Paths are absolute. View a file before you edit it, and leave line numbers out of old_str and new_str.`

export const PARAMETERS: Record<string, unknown> = {
  type: 'object',
  properties: {
    command: {
      type: 'string',
      enum: ['view', 'create', 'str_replace', 'insert', 'undo_edit'],
      description: 'What to do.',
    },
    path: { type: 'string', description: 'Absolute path of the file or directory.' },
    file_text: { type: 'string', description: 'For create: the content of the new file.' },
    old_str: { type: 'string', description: 'For str_replace: the text to replace; must occur exactly once.' },
    new_str: {
      type: 'string',
      description: 'For str_replace: the text to put in its place. For insert: the lines to insert.',
    },
    insert_line: {
      type: 'integer',
      minimum: 0,
      description: 'For insert: the number of the line after which new_str is inserted; 0 for the beginning.',
    },
    view_range: {
      type: 'array',
      items: { type: 'integer' },
      description:
        'For view of a file: first and last line, counted from 1, for example [11, 40]; [11, -1] goes to the end.',
    },
  },
  required: ['command', 'path'],
}
