-- Nobody looks for tasks by their status alone, and every change of it would write this index.
DROP INDEX tasks_open;
